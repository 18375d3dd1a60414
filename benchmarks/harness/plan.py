"""What the files in groups/ declare: works, who computes them, and the bars that must be cleared."""
import math
import re
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Bar:
    """Ours must be `gate` times as fast as `rival`, and aims at `goal`; nan: there is none, the ratio is shown.

    rival    a side of the work, "best" (the fastest of its rivals), or "peak" (the share of the FMA peak, not a
             ratio of times)
    threads  the number of threads for which it holds; None: any
    """
    row: str
    rival: str
    gate: float = math.nan
    goal: float = math.nan
    ours: str = "graph"
    threads: int | None = 1


@dataclass(frozen=True)
class Work:
    """One thing that every side computes from the same numbers.

    name       GROUP/WHAT/..., as the programs know it
    ours       variants of our program
    rivals     names of RIVALS in harness/rivals/
    flops      floating-point operations of one call, 0: not known
    tolerance  numbers of two sides may differ by tolerance (1 + the largest of them)
    compared   how many of the numbers rivals must agree on (graph and PyNative mode must in all), None: all
    lacks      what we cannot do yet: the work is not measured, and its bars are not met
    """
    name: str
    what: str
    rivals: tuple
    ours: tuple = ("graph", "pynative")
    flops: float = 0
    tolerance: float = 1e-4
    bars: tuple = ()
    compared: int | None = None
    lacks: str = ""


@dataclass(frozen=True)
class GeometricMean:
    """A bar for the geometric mean of the ratios of many works, or for another `middle`, the median; no single one may
    fall below `least`, if that is above 0. `ours`: a variant, or "" for the one that each work has."""
    row: str
    what: str
    works: tuple
    rival: str
    gate: float
    goal: float = math.nan
    least: float = 0
    ours: str = "graph"
    threads: int | None = 1
    middle: str = "geometric mean"


@dataclass(frozen=True)
class Group:
    """A file of groups/: its program in run/, its works, and what a rival needs to build the networks (see
    harness/rivals/). With `rows` the program is made of them (harness/table.py)."""
    program: str
    works: tuple
    means: tuple = ()
    networks: dict = field(default_factory=dict)
    rows: tuple = ()


@dataclass(frozen=True)
class Conv:
    name: str
    inputs: int
    outputs: int
    kernel: int
    padding: int
    stride: int = 1
    bias: bool = True


@dataclass(frozen=True)
class BatchNorm:
    name: str
    channels: int


@dataclass(frozen=True)
class Residual:
    """body(x) + shortcut(x); an empty shortcut is x itself."""
    body: tuple
    shortcut: tuple


@dataclass(frozen=True)
class Dense:
    name: str
    inputs: int
    outputs: int


@dataclass(frozen=True)
class Lstm:
    """From [steps, inputs] to the last output, [hidden]."""
    name: str
    inputs: int
    hidden: int


@dataclass(frozen=True)
class TransformerLayer:
    """An encoder's layer of [places, width], or a decoder's that attends to its own input; norms after each part."""
    name: str
    width: int
    heads: int
    hidden: int
    decoder: bool


RELU, MAX_POOL, FLATTEN, MEAN = "relu", "max_pool", "flatten", "mean"  # maximum of 2x2, mean of each channel's plane


@dataclass(frozen=True)
class Network:
    """A chain of layers, from which each framework builds its own form. Parameters have the names of their layers."""
    sample: tuple  # the shape of one sample
    classes: int
    layers: tuple


@dataclass(frozen=True)
class Transformer:
    """A language model: token and position embeddings, pre-norm blocks (causal attention; gelu between width and 4
    width), norm, head."""
    layers: int
    length: int
    width: int
    heads: int
    vocabulary: int


@dataclass(frozen=True)
class Convolution:
    """The shape of a convolution without bias: a batch of images n x c x h x w, o kernels. What is a pair is
    (vertical, horizontal)."""
    n: int
    c: int
    h: int
    w: int
    o: int
    kernel: tuple
    stride: tuple = (1, 1)
    padding: tuple = (0, 0)
    dilation: tuple = (1, 1)
    groups: int = 1

    @property
    def image(self):
        return self.c, self.h, self.w

    @property
    def weight(self):
        return self.o, self.c // self.groups, *self.kernel

    @property
    def result(self):
        reach = [(k - 1) * d + 1 for k, d in zip(self.kernel, self.dilation)]
        return self.o, *(
            (size + 2 * p - r) // s + 1 for size, p, r, s in zip((self.h, self.w), self.padding, reach, self.stride)
        )

    @property
    def flops(self):
        return 2 * self.n * math.prod(self.result) * math.prod(self.weight[1:])

    def name(self, what):
        """As programs know it: conv/forward/8x64x56x56-64x3x3-s1x1-p1x1-d1x1-g1."""
        pairs = "-".join(
            f"{letter}{v[0]}x{v[1]}" for letter, v in zip("spd", (self.stride, self.padding, self.dilation))
        )
        image, kernels = f"{self.n}x{self.c}x{self.h}x{self.w}", f"{self.o}x{self.kernel[0]}x{self.kernel[1]}"
        return f"conv/{what}/{image}-{kernels}-{pairs}-g{self.groups}"


def convolution(name):
    """The shape that a name tells."""
    n, c, h, w, o, kh, kw, sh, sw, ph, pw, dh, dw, groups = numbers_in(name)
    return Convolution(n, c, h, w, o, (kh, kw), (sh, sw), (ph, pw), (dh, dw), groups)


def numbers_in(name):
    """The whole numbers in the last part of a name."""
    return tuple(map(int, re.findall(r"\d+", name.rsplit("/", 1)[1])))
