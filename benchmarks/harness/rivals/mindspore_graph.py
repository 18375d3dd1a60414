"""MindSpore in graph mode."""
import mindspore
from mindspore import Tensor, nn

from harness.isa import of_environment
from harness.numbers import batch_of, safetensors
from harness.plan import FLATTEN, MAX_POOL, RELU, Conv


def build(network, weights):
    layers = []
    for layer in network.layers:
        if layer in (RELU, MAX_POOL, FLATTEN):
            layers.append({RELU: nn.ReLU, MAX_POOL: lambda: nn.MaxPool2d(2, 2), FLATTEN: nn.Flatten}[layer]())
            continue
        initial = {
            "weight_init": Tensor(weights[layer.name + ".weight"]),
            "bias_init": Tensor(weights[layer.name + ".bias"]),
        }
        if isinstance(layer, Conv):
            layers.append(
                nn.Conv2d(
                    layer.inputs,
                    layer.outputs,
                    layer.kernel,
                    pad_mode="pad",
                    padding=layer.padding,
                    has_bias=True,
                    **initial,
                )
            )
        else:
            layers.append(nn.Dense(layer.inputs, layer.outputs, **initial))
    return nn.SequentialCell(layers)


def isa(rival):
    """It reports nothing: what its oneDNN was told."""
    return of_environment("DNNL_MAX_CPU_ISA")


def works(rival, group, threads, folder):
    mindspore.set_context(mode=mindspore.GRAPH_MODE, device_target="CPU")

    def make(name):
        network_name, what, batch = name.split("/")
        network, weights = group.networks[network_name], safetensors(f"{folder}/{network_name}.safetensors")
        x, y = map(Tensor, batch_of(network, int(batch)))
        if what == "forward":
            net = build(network, weights)
            net.set_train(False)
            return lambda: net(x).asnumpy().reshape(-1), lambda: net(x).asnumpy()

        def start():
            net = build(network, weights)
            with_loss = nn.WithLossCell(net, nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean"))
            step = nn.TrainOneStepCell(with_loss, nn.Momentum(net.trainable_params(), 0.01, 0.9))
            step.set_train()
            return lambda: step(x, y).asnumpy()

        return lambda: [float(call()) for call in [start()] * 10], start()

    return make
