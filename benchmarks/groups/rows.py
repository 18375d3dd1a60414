"""What larger works hide: gradients of weights from few channels to 64, one row times matrices of widths beside and at
powers of two, row-wise operators, and gradients of pools whose windows overlap. Without bars: the ratios are shown."""
import math

from harness.plan import Bar, Convolution, Dense, GeometricMean, Group, Network, Work

# Batches of 32; images shrink where channels grow, so that all calls take a few milliseconds at most.
GRADIENTS = tuple(
    Convolution(32, c, size, size, c, (k, k), (1, 1), (k // 2, k // 2))
    for c, size in ((3, 28), (6, 28), (16, 28), (32, 14), (64, 14))
    for k in (1, 3, 5, 7)
)
WIDTHS = (784, 896, 1008, 1024, 1040, 1152, 1280, 1408, 1536, 1664, 1792, 1920, 2032, 2048, 2064)
OUTPUTS = 512
ROWS = tuple(
    f"rows/{what}/{size}"
    for what in ("softmax", "log_softmax")
    for size in ("32x10", "512x65", "64x1000", "3000x33", "8x5000")
)
POOL_SIZES = ("8x64x56x56-k3x3-s2x2-p1x1", "8x32x28x28-k3x3-s1x1-p1x1", "16x16x31x31-k5x5-s2x2-p0x0")
POOLS = tuple(f"pool/{what}/{size}" for what in ("max_backward", "avg_backward") for size in POOL_SIZES)
# Forward and backward: in a training both keep the places of the maxima.
MAX_POOLS = tuple(f"pool/max_train/{size}" for size in POOL_SIZES)


def operator(name, flops=0):
    return Work(name, name, ("pytorch",), ("pynative",), flops, 1e-4)


def row(width):
    title = f"one row of {width} times {width} x {OUTPUTS}"
    bars = tuple(Bar("", "onnxruntime", ours=ours) for ours in ("graph", "pynative"))
    return Work(f"row{width}/forward/1", title, ("onnxruntime",), flops=2 * width * OUTPUTS, bars=bars)


def mean(what, works, rival="pytorch", ours="pynative"):
    return GeometricMean("", what, tuple(works), rival, math.nan, ours=ours)


GRADIENT_NAMES = [shape.name("backward_weight") for shape in GRADIENTS]
GROUP = Group(
    "rows",
    (
        *(operator(name, shape.flops) for name, shape in zip(GRADIENT_NAMES, GRADIENTS)),
        *map(row, WIDTHS),
        *map(operator, (*ROWS, *POOLS, *MAX_POOLS)),
    ),
    (
        mean("gradients of weights of 3 to 64 channels, N = 32", GRADIENT_NAMES),
        mean("products of one row", (f"row{width}/forward/1" for width in WIDTHS), "onnxruntime", "graph"),
        mean("softmax and log-softmax", ROWS),
        mean("gradients of pools whose windows overlap", POOLS),
        mean("maximum pools whose windows overlap, forward and backward", MAX_POOLS),
    ),
    networks={f"row{width}": Network((width,), OUTPUTS, (Dense("fc", width, OUTPUTS),)) for width in WIDTHS},
)
