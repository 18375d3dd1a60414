"""ResNet-18 on 32x32 pixels: steps of training, in mixed precision too, and forward passes."""
from harness.plan import MEAN, RELU, Bar, BatchNorm, Conv, Dense, Group, Network, Residual, Work


def conv(name, inputs, outputs, kernel, stride=1):
    return Conv(name, inputs, outputs, kernel, kernel // 2, stride, bias=False)


def block(name, inputs, outputs, stride):
    body = (conv(f"{name}.conv1", inputs, outputs, 3, stride), BatchNorm(f"{name}.bn1", outputs), RELU,
            conv(f"{name}.conv2", outputs, outputs, 3), BatchNorm(f"{name}.bn2", outputs))
    return (
        Residual(
            body,
            (
                ()
                if inputs == outputs
                else (conv(f"{name}.down", inputs, outputs, 1, stride), BatchNorm(f"{name}.down_bn", outputs))
            ),
        ),
        RELU,
    )


def stage(name, inputs, outputs, stride):
    return *block(f"{name}.first", inputs, outputs, stride), *block(f"{name}.second", outputs, outputs, 1)


RESNET18 = Network(
    (3, 32, 32),
    10,
    (
        conv("conv1", 3, 64, 3),
        BatchNorm("bn1", 64),
        RELU,
        *stage("layer1", 64, 64, 1),
        *stage("layer2", 64, 128, 2),
        *stage("layer3", 128, 256, 2),
        *stage("layer4", 256, 512, 2),
        MEAN,
        Dense("fc", 512, 10),
    ),
)

# By the third step even PyTorch in float32 and PyTorch in float64 differ by a hundredth: batch norms multiply what was
# rounded.
COMPARED = 2

FORWARD, FIRST = (
    1.1108e9,
    3.54e6,
)  # operations per sample, of which the first convolution; training needs no gradient of its input

GROUP = Group(
    "resnet",
    (
        Work(
            "resnet18/train/32",
            "ResNet-18 training step, N = 32",
            ("pytorch",),
            flops=32 * (3 * FORWARD - FIRST),
            tolerance=1e-3,
            compared=COMPARED,
            bars=(Bar("13", "pytorch", 0.95), Bar("13", "pytorch", 0.95, threads=2)),
        ),
        Work(
            "resnet18/forward/1",
            "ResNet-18 forward, N = 1",
            ("onnxruntime", "pytorch"),
            flops=FORWARD,
            bars=(Bar("13", "onnxruntime", 0.95),),
        ),
        Work(
            "resnet18/amp/32",
            "ResNet-18 training step in mixed precision, N = 32",
            ("autocast",),
            flops=32 * (3 * FORWARD - FIRST),
            tolerance=1e-2,
            compared=COMPARED,
            bars=(Bar("14", "autocast", 1.0, 2.5),),
        ),
        Work(
            "resnet18-winograd/train/32",
            "ResNet-18 training step by Winograd, N = 32",
            ("pytorch",),
            flops=32 * (3 * FORWARD - FIRST),
            tolerance=1e-3,
            compared=COMPARED,
            bars=(Bar("13", "pytorch", 0.95, 1.6), Bar("13", "pytorch", 0.95, 1.6, threads=2)),
        ),
        Work(
            "resnet18-winograd/forward/1",
            "ResNet-18 forward by Winograd, N = 1",
            ("onnxruntime", "pytorch"),
            flops=FORWARD,
            bars=(Bar("13", "onnxruntime"),),
        ),
    ),
    networks={"resnet18": RESNET18, "resnet18-winograd": RESNET18},
)
