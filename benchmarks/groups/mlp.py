"""Two networks of two dense layers: 784-512-10 and 4-8-2."""
from harness.plan import RELU, Bar, Dense, Group, Network, Work


def mlp(inputs, hidden, outputs):
    return Network((inputs,), outputs, (Dense("fc1", inputs, hidden), RELU, Dense("fc2", hidden, outputs)))


def operations(network, training):
    first, second = network.layers[0], network.layers[2]
    a, b = 2 * first.inputs * first.outputs, 2 * second.inputs * second.outputs
    return 2 * a + 3 * b if training else a + b  # training needs no gradient of its input


NETWORKS = {"mlp784": mlp(784, 512, 10), "mlp4": mlp(4, 8, 2)}
SIZES = {"mlp784": "784-512-10", "mlp4": "4-8-2"}


def work(name, what, batch, *bars, rivals):
    title = f"MLP {SIZES[name]} {'training step' if what == 'train' else what}, N = {batch}"
    return Work(
        f"{name}/{what}/{batch}", title, rivals, flops=batch * operations(NETWORKS[name], what == "train"), bars=bars
    )


EAGER, ALL = ("pytorch", "jax"), ("pytorch", "compiled", "jax", "mindspore")
GROUP = Group("mlp", (
    work("mlp784", "forward", 1, Bar("5", "onnxruntime", 1.7, 3), rivals=("onnxruntime", *EAGER, "mindspore")),
    work("mlp784", "train", 1, Bar("5", "best", 2, 4), rivals=ALL),
    work("mlp784", "train", 64, Bar("5", "best", 1.25, 1.6), rivals=ALL),
    work("mlp4", "forward", 1, Bar("6", "onnxruntime", 300, 600), rivals=("onnxruntime", *EAGER)),
    work("mlp4", "train", 1, Bar("6", "jax", 100, 250), rivals=EAGER)), networks=NETWORKS)
