"""Random shapes of every kind of kernel, against PyTorch: `compare.py --random 40 --seed 1`.

Shapes are compile-time constants of Tenon, so a program is written that has them all, in a few files of
build/benchmarks/random.
"""

import math
import os
import random
import subprocess
from dataclasses import dataclass

from harness import build
from harness.plan import Convolution, Work

EXTENTS = (5, 7, 9, 11, 13, 14, 15, 17, 19, 23, 28, 29, 31, 37, 47, 56, 61, 71, 97, 112)
CHANNELS = (1, 3, 5, 7, 8, 13, 16, 17, 24, 31, 32, 48, 64, 67, 96, 128, 131, 256)
BATCHES = (1, 2, 3, 4, 5, 6, 7, 8, 16, 32, 33)
KERNELS = ((1, 1), (3, 3), (3, 3), (5, 5), (7, 7), (1, 7), (7, 1), (3, 1), (1, 3), (2, 2), (4, 3))
PER_FILE = 40  # works in one translation unit


@dataclass
class Shape:
    """One work: its name, the operations of a call (0: no multiply-adds), and how C++ makes it."""
    name: str
    flops: float
    make: str


def near(rng, least, most):
    """A whole number, small ones as often as large ones, without a taste for powers of two."""
    return round(math.exp(rng.uniform(math.log(least), math.log(most))))


def convolutions(rng):
    while True:
        c, kernel = rng.choice(CHANNELS), rng.choice(KERNELS)
        groups = rng.choice([1, 1, 1, 1, 1, c, *(g for g in (2, 3, 4) if c % g == 0)])
        o = rng.choice(CHANNELS) if groups == 1 else groups * rng.choice((1, 2, max(1, c // groups)))
        dilation = rng.choice([(1, 1)] * 4 + [(2, 2), (3, 1), (1, 2)])
        reach = [(k - 1) * d for k, d in zip(kernel, dilation)]
        padding = tuple(rng.choice((0, r // 2, r // 2)) for r in reach)
        n, h, w, stride = (
            rng.choice(BATCHES),
            rng.choice(EXTENTS),
            rng.choice(EXTENTS),
            rng.choice([(1, 1)] * 4 + [(2, 2), (2, 1), (1, 2), (3, 3)]),
        )
        s = Convolution(n, c, h, w, o, kernel, stride, padding, dilation, groups)
        elements = s.n * max(math.prod(s.image), math.prod(s.result))
        if min(s.result) >= 1 and 5e5 <= s.flops <= 4e8 and elements <= 4e6:
            break
    arguments = ", ".join(map(str, (*s.image, s.o, *s.kernel, *s.stride, *s.padding, *s.dilation, s.groups)))
    return [
        Shape(s.name(what), s.flops, f'Convolution<{arguments}>::make("{what}", {s.n})')
        for what in ("forward", "backward_input", "backward_weight")
    ]


def products(rng):
    while True:
        m, n, k = (near(rng, 1, 1500) for _ in range(3))
        stack = rng.choice((1, 1, 1, 1, 3, 12, 64))
        flops = 2 * stack * m * n * k
        if 2e4 <= flops <= 4e8 and stack * max(m * n, m * k, n * k) <= 4e6:
            break
    if stack > 1:
        return [Shape(f"matmul/stack/{stack}x{m}x{n}x{k}", flops, f"Products<{stack}, {m}, {n}, {k}>::make()")]
    transposed = rng.choice(("none", "none", "first", "second"))
    return [
        Shape(f"matmul/{transposed}/{m}x{n}x{k}", flops, f"Product<{m}, {n}, {k}, Transposed::{transposed}>::make()")
    ]


def pools(rng):
    while True:
        n, c, h, w = rng.choice(BATCHES), rng.choice(CHANNELS), rng.choice(EXTENTS), rng.choice(EXTENTS)
        kernel = rng.choice(((2, 2), (2, 2), (3, 3), (5, 5), (1, 3), (3, 2)))
        stride = rng.choice((kernel, kernel, (1, 1), (2, 2)))
        padding = tuple(rng.choice((0, k // 2)) for k in kernel)
        if 5e3 <= n * c * h * w <= 2e6:
            break
    pairs = "-".join(f"{letter}{v[0]}x{v[1]}" for letter, v in zip("ksp", (kernel, stride, padding)))
    arguments = ", ".join(map(str, (c, h, w, *kernel, *stride, *padding)))
    size = f"{n}x{c}x{h}x{w}-{pairs}"
    return [
        Shape(f"pool/{what}/{size}", 0, f'Pool<{arguments}>::make("{what}", {n})')
        for what in ("max", "avg", "max_backward", "avg_backward")
    ]


def rows(rng):
    while True:
        r, c = near(rng, 1, 3000), near(rng, 2, 5000)
        if 2e3 <= r * c <= 2e6:
            break
    return [
        Shape(f"rows/{what}/{r}x{c}", 0, f'Rows<{r}, {c}>::make("{what}")')
        for what in ("softmax", "log_softmax", "layer_norm")
    ]


def reductions(rng):
    while True:
        extents, axis = [near(rng, 1, 1000) for _ in range(3)], rng.randrange(3)
        if 5e3 <= math.prod(extents) <= 2e6:
            break
    size = "x".join(map(str, extents))
    arguments = ", ".join(map(str, (*extents, axis)))
    return [
        Shape(f"reduce/{what}/{size}-axis{axis}", 0, f'Reduction<{arguments}>::make("{what}")')
        for what in ("sum", "mean", "max")
    ]


def drawn(count, seed):
    """So many shapes: four of ten are convolutions, two products, the rest pools, rows, and reductions. Most are a
    work or three."""
    rng = random.Random(seed)
    kinds = [
        convolutions,
        convolutions,
        convolutions,
        convolutions,
        products,
        products,
        products,
        pools,
        rows,
        reductions,
    ]
    shapes = {shape.name: shape for i in range(count) for shape in kinds[i % len(kinds)](rng)}
    return list(shapes.values())


def build_program(shapes):
    """Writes and builds the program; returns its path."""
    folder = build.tree("random")
    os.makedirs(folder, exist_ok=True)
    parts = [shapes[i:i + PER_FILE] for i in range(0, len(shapes), PER_FILE)]
    objects = []
    for k, part in enumerate([*parts, None]):
        source = os.path.join(folder, f"part{k}.cpp" if part else "main.cpp")
        with open(source, "w") as file:
            file.write(source_of(k, part) if part else main_of(len(parts)))
        objects.append(source[:-4] + ".o")
        print(f"building {source}", flush=True)
        subprocess.run([*build.compiler(), "-c", source, "-o", objects[-1]], check=True)
    binary = os.path.join(folder, "random")
    subprocess.run([*build.compiler(), *objects, "-o", binary, "-lpthread"], check=True)
    return binary


def source_of(k, part):
    lines = "\n".join(f'  works["{shape.name}"] = [] {{ return {shape.make}; }};' for shape in part)
    return (
        f'#include "shapes.hpp"\n\nusing namespace benchmark;\n\n'
        f'void add_part{k}(std::map<std::string, std::function<Work()>>& works) {{\n{lines}\n}}\n'
    )


def main_of(parts):
    declared = "\n".join(
        f"void add_part{k}(std::map<std::string, std::function<benchmark::Work()>>& works);" for k in range(parts)
    )
    added = "\n".join(f"    add_part{k}(works);" for k in range(parts))
    return f"""#include "operators.hpp"

{declared}

int main(int argc, char** argv) {{
  return benchmark::main_of(argc, argv, [](int threads, const std::string&) -> benchmark::Maker {{
    tenon::set_context({{.num_threads = threads}});
    std::map<std::string, std::function<benchmark::Work()>> works;
{added}
    return [=](const std::string& name, const std::string&) {{ return works.at(name)(); }};
  }});
}}
"""


def works(shapes):
    # A sum of two million numbers in another order: 1e-4. Gradients of weights are such sums.
    return [Work(shape.name, shape.name, ("pytorch",), ("pynative",), shape.flops, 1e-4) for shape in shapes]
