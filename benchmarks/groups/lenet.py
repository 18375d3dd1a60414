"""LeNet-5 on 28x28 pixels: steps of training and forward passes."""
from harness.plan import FLATTEN, MAX_POOL, RELU, Bar, Conv, Dense, Group, Network, Work

LENET = Network((1, 28, 28), 10, (
    Conv("conv1", 1, 6, 5, 2), RELU, MAX_POOL, Conv("conv2", 6, 16, 5, 0), RELU, MAX_POOL, FLATTEN,
    Dense("fc1", 400, 120), RELU, Dense("fc2", 120, 84), RELU, Dense("fc3", 84, 10)))

FORWARD, TRAIN = 0.833e6, 2.264e6  # operations per sample; training needs no gradient of its input


def train(batch, bars, rivals=("pytorch", "jax")):
    return Work(f"lenet/train/{batch}", f"LeNet-5 training step, N = {batch}", rivals, flops=TRAIN * batch, bars=bars)


FORWARD_BARS = Bar("4", "onnxruntime", 2.5, 4.5), Bar("4", "pytorch", 12, 25)


def forward(batch, bars=(), rivals=("onnxruntime", "pytorch")):
    return Work(f"lenet/forward/{batch}", f"LeNet-5 forward, N = {batch}", rivals, flops=FORWARD * batch, bars=bars)


def against_pytorch(gate, goal, gate2, goal2=9):
    return Bar("1", "pytorch", gate, goal), Bar("1", "jax", 8, 8), Bar("2", "pytorch", gate2, goal2, threads=2)


GROUP = Group(
    "lenet",
    (
        train(1, (Bar("3", "best", 10, 20),), ("pytorch", "compiled", "jax")),
        train(
            32,
            (*against_pytorch(6, 9, 5), Bar("7", "pytorch", 3, 5, ours="pynative"), Bar("8", "pynative", 1.15, 1.5)),
            ("pytorch", "jax", "mindspore"),
        ),
        train(64, against_pytorch(5, 8, 5)),
        train(256, against_pytorch(4, 6, 4.5)),
        forward(1, FORWARD_BARS, ("onnxruntime", "pytorch", "jax")),
        forward(32, FORWARD_BARS, ("onnxruntime", "pytorch", "compiled", "jax")),
        # Beside multiples of 16: what one more sample costs.
        *(train(batch, (), ("pytorch",)) for batch in (16, 17, 24, 33, 48)),
        *(forward(batch) for batch in (16, 17, 33)),
    ),
    networks={"lenet": LENET},
)
