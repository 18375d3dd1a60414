"""A table of operators, each as an expression in C++ and one in Python: its works, and the program of ours, which is
written and compiled for the works that are measured.

Operands are x, y, z, v, w, named in this order by their types: `n.64` is a float32 tensor [n, 64]. A letter before it
says what its numbers are, and whether "train" computes its gradient:

    (none)  in [-2, 2)      u:  in [0, 1)      p:  in [1, 3)      s:  in [-1/8, 1/8)
    h:      in [1/8, 7/8), with a gradient, too
    c:      in [-2, 2), without a gradient     q:  in [0, 1), without a gradient
    b:      bool            i100:  int32 in [0, 100)
"""
import os
import re
import subprocess
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from harness import build
from harness.plan import Work

NAMES = "xyzvw"
FILLS = {  # the least number and how many more there are, in eighths
    "": (-16, 32, True),
    "u": (0, 8, True),
    "p": (8, 16, True),
    "s": (-1, 2, True),
    "h": (1, 6, True),
    "c": (-16, 32, False),
    "q": (0, 8, False),
}
PER_FILE = 6  # rows in one translation unit


@dataclass(frozen=True)
class Operand:
    extents: tuple  # -1: n
    dtype: str
    low: int
    width: int
    gradient: bool

    def cxx(self):
        shape = ", ".join("dyn" if extent < 0 else str(extent) for extent in self.extents)
        gradient = "true" if self.gradient else "false"
        return f"Filled<{self.dtype}, Shape<{shape}>, {self.low}, {self.width}, {gradient}>"

    def of(self, n):
        return tuple(n if extent < 0 else extent for extent in self.extents)


def operand(text):
    letter, _, extents = text.rpartition(":")
    shape = tuple(-1 if extent == "n" else int(extent) for extent in extents.split(".") if extent)
    if letter == "b":
        return Operand(shape, "bool", 0, 8, False)
    if letter.startswith("i"):
        return Operand(shape, "std::int32_t", 0, 8 * int(letter[1:]), False)
    return Operand(shape, "float", *FILLS[letter])


@dataclass(frozen=True)
class Row:
    """One operator, on operands of some types.

    name     of its works: op/NAME/forward/SIZE, op/NAME/train/SIZE
    cxx      its call in C++
    torch    the same in Python, with torch, F, and what harness/rivals/pytorch_table.py defines
    types    types of the operands
    sizes    the values of n
    train    whether it has a gradient to measure
    graph    ours is a graph: what consists of several operators, and runs in a network
    """
    name: str
    cxx: str
    torch: str
    types: str = "n.64"
    sizes: tuple = (16, 1024, 16384)
    train: bool = True
    graph: bool = False
    tolerance: float = 1e-4

    @property
    def operands(self):
        return tuple(map(operand, self.types.split()))

    @property
    def ours(self):
        return "graph" if self.graph else "pynative"

    def size(self, n):
        """The extents of all operands."""
        return "_".join("x".join(map(str, o.of(n))) or "1" for o in self.operands)

    def works(self):
        what = ("forward", "train") if self.train else ("forward",)
        return [
            Work(f"op/{self.name}/{w}/{self.size(n)}", f"{self.name}, {w}, {self.size(n)}", ("pytorch",), (self.ours,),
                 tolerance=self.tolerance)
            for w in what
            for n in self.sizes
        ]

    def line(self):
        parameters = ", ".join(f"const auto& {name}" for name, _ in zip(NAMES, self.operands))
        types = ", ".join(o.cxx() for o in self.operands)
        sizes = ", ".join(f'{{"{self.size(n)}", {n}}}' for n in self.sizes)
        how = ", ".join(str(flag).lower() for flag in (self.train, self.graph))
        return (
            f'  add_operator<{how}, {types}>(works, "op/{self.name}", {{{sizes}}},\n'
            f"    []({parameters}) {{ return {self.cxx}; }});"
        )


@dataclass(frozen=True)
class OptimizerRow:
    """An optimizer, on one parameter of so many elements.

    name     of its works: op/NAME/step/SIZE
    cxx      the optimizer in C++
    torch    the same in Python, of the parameter p
    """
    name: str
    cxx: str
    torch: str
    sizes: tuple = (1024, 65536, 1048576)
    tolerance: float = 1e-4

    def size(self, n):
        return str(n)

    def works(self):
        return [
            Work(f"op/{self.name}/step/{n}", f"{self.name}, step, {n}", ("pytorch",), ("graph",),
                 tolerance=self.tolerance)
            for n in self.sizes
        ]

    def line(self):
        sizes = ", ".join(map(str, self.sizes))
        return f'  add_optimizer<{sizes}>(works, "op/{self.name}", [] {{ return {self.cxx}; }});'


def row_of(rows, work):
    """The row of a work, what it measures, and its n."""
    for row in rows:
        for n in row.sizes:
            for what in ("forward", "train", "step"):
                if work == f"op/{row.name}/{what}/{row.size(n)}":
                    return row, what, n
    raise KeyError(work)


def program(rows, works):
    """Writes and compiles the parts of the table that have these works, as far as they are not there; returns the path
    of the program."""
    asked = {work.name for work in works}
    parts = [rows[i:i + PER_FILE] for i in range(0, len(rows), PER_FILE)]
    numbers = [k for k, part in enumerate(parts) if asked & {work.name for row in part for work in row.works()}]
    folder = build.tree("operators")
    os.makedirs(folder, exist_ok=True)
    sources = {f"part{k}": source_of(k, parts[k]) for k in numbers} | {"main": main_of(numbers)}
    with ThreadPoolExecutor(max(1, (os.cpu_count() or 2) // 2)) as pool:
        objects = list(pool.map(lambda name: compiled(os.path.join(folder, name), sources[name]), sources))
    binary = os.path.join(folder, "operators")
    subprocess.run([*build.compiler(), *objects, "-o", binary, "-lpthread"], check=True)
    return binary


def compiled(path, text):
    """The object of a source with this text, compiled if it or a header is newer."""
    source, target, list_of_headers = path + ".cpp", path + ".o", path + ".d"
    if not os.path.exists(source) or open(source).read() != text:
        with open(source, "w") as file:
            file.write(text)
    if os.path.exists(target) and os.path.exists(list_of_headers):
        with open(list_of_headers) as file:
            needs = file.read().replace("\\\n", " ").split()[1:]
        if all(os.path.exists(f) and os.path.getmtime(f) <= os.path.getmtime(target) for f in needs):
            return target
    print(f"building {target}", flush=True)
    subprocess.run([*build.compiler(), "-MMD", "-c", source, "-o", target], check=True)
    return target


def source_of(k, rows):
    lines = "\n".join(row.line() for row in rows)
    return (
        '#include "optimizers.hpp"\n\nusing namespace benchmark;\nusing namespace tenon::ops;\n\n'
        f"void add_part{k}(Works& works) {{\n{lines}\n}}\n"
    )


def main_of(numbers):
    declared = "\n".join(f"void add_part{k}(benchmark::Works& works);" for k in numbers)
    added = "\n".join(f"    add_part{k}(works);" for k in numbers)
    return f"""#include "table.hpp"

{declared}

int main(int argc, char** argv) {{
  return benchmark::main_of(argc, argv, [](int threads, const std::string&) -> benchmark::Maker {{
    tenon::set_context({{.num_threads = threads}});
    benchmark::Works works;
{added}
    return [=](const std::string& name, const std::string&) {{ return works.at(name)(); }};
  }});
}}
"""
