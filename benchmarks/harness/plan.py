"""What the files in groups/ declare: works, who computes them, and the bars that must be cleared."""
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Bar:
    """Ours must be `gate` times as fast as `rival`, and aims at `goal`.

    rival    a side of the work, "best" (the fastest of its rivals), or "peak" (the share of the FMA peak, not a ratio of times)
    threads  the number of threads for which it holds; None: any
    """
    row: str
    rival: str
    gate: float
    goal: float
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
    """
    name: str
    what: str
    rivals: tuple
    ours: tuple = ("graph", "pynative")
    flops: float = 0
    tolerance: float = 1e-4
    bars: tuple = ()


@dataclass(frozen=True)
class GeometricMean:
    """A bar for the geometric mean of the ratios of many works; no single one may fall below `least`."""
    row: str
    what: str
    works: tuple
    rival: str
    gate: float
    goal: float
    least: float
    ours: str = "graph"
    threads: int | None = 1


@dataclass(frozen=True)
class Group:
    """A file of groups/: its program in run/, its works, and what a rival needs to build the networks (see harness/rivals/)."""
    program: str
    works: tuple
    means: tuple = ()
    networks: dict = field(default_factory=dict)


@dataclass(frozen=True)
class Conv:
    name: str
    inputs: int
    outputs: int
    kernel: int
    padding: int


@dataclass(frozen=True)
class Dense:
    name: str
    inputs: int
    outputs: int


RELU, MAX_POOL, FLATTEN = "relu", "max_pool", "flatten"  # of 2x2


@dataclass(frozen=True)
class Network:
    """A chain of layers, from which each framework builds its own form."""
    sample: tuple  # the shape of one sample
    classes: int
    layers: tuple


@dataclass(frozen=True)
class Transformer:
    """A language model: token and position embeddings, pre-norm blocks (causal attention; gelu between width and 4 width), norm, head."""
    layers: int
    length: int
    width: int
    heads: int
    vocabulary: int
