"""Convolutions in float32, forward and both backwards: shapes of ResNets, and those with few input channels."""
from harness.plan import Bar, Convolution, GeometricMean, Group, Work


def square(n, c, size, o, kernel, stride=1):
    return Convolution(n, c, size, size, o, (kernel, kernel), (stride, stride), (kernel // 2, kernel // 2))


KINDS = {
    "forward": "convolution",
    "backward_input": "gradient of the image of a convolution",
    "backward_weight": "gradient of the weight of a convolution",
}
MANY = [square(n, *shape) for shape in ((64, 56, 64, 3), (256, 14, 256, 3), (64, 56, 256, 1)) for n in (1, 8)]
RIVALS = ("pytorch", "onednn", "onednn_sycl")
FEW = [square(32, 1, 28, 6, 5), square(2, 3, 224, 64, 7, 2), square(32, 3, 32, 16, 3)]


def work(shape, what, rivals, bars=()):
    title = f"{KINDS[what]} {shape.c}-{shape.o} {shape.kernel[0]}x{shape.kernel[1]}" + (
        f"/{shape.stride[0]}" if shape.stride[0] > 1 else ""
    )
    return Work(
        shape.name(what),
        f"{title} at {shape.h}x{shape.w}, N = {shape.n}",
        rivals,
        ("pynative",),
        shape.flops,
        1e-4,
        bars,
    )


def mean(rival, gate):
    names = tuple(shape.name(what) for shape in MANY for what in KINDS)
    return GeometricMean(
        "11", "convolutions of 64 and more channels, forward and backward", names, rival, gate, ours="pynative"
    )


# Nobody asks a first layer for the gradient of its image: measured, without a bar.
def bars(what):
    return () if what == "backward_input" else (Bar("12", "pytorch", 3, ours="pynative"),)


GROUP = Group("conv", (*(work(shape, what, RIVALS) for shape in MANY for what in KINDS),
                       *(work(shape, what, RIVALS, bars(what)) for shape in FEW for what in KINDS)),
              (mean("pytorch", 1.2), mean("onednn", 0.9), mean("onednn_sycl", 0.9)))
