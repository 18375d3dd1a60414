"""Figures that are no ratio of times: what a program needs to start, to compile, in memory, and whether all ways of
running it agree."""

import math
import os
import re
import statistics
import subprocess
import time
from dataclasses import dataclass

from harness import build
from harness.side import Side


@dataclass
class Figure:
    """One line of the second table: a value that may be `gate` at most (nan: shown only).

    Its line in docs/figures.md, which figures may share, is called `title`; `short` stands before the value there.
    """
    row: str
    title: str
    short: str
    value: float
    unit: str
    gate: float = math.nan
    only: str = ""

    @property
    def what(self):
        return f"{self.title}: {self.short}" if self.short else self.title

    @property
    def met(self):
        return "" if math.isnan(self.gate) else "gate" if self.value <= self.gate else "no"


def start(bench):
    """Process start to the end of LeNet's first training step."""
    milliseconds, megabytes = [], []
    for _ in range(5 if bench.options.quick else 21):
        begin = time.perf_counter()
        done = subprocess.run([build.program("start")], stdout=subprocess.PIPE, text=True, check=True)
        milliseconds.append(1e3 * (time.perf_counter() - begin))
        megabytes.append(int(done.stdout) / 1024)
    what = "process start to the end of the first LeNet-5 step, N = 32"
    return [
        Figure("18", what, "", statistics.median(milliseconds), "ms", 23),
        Figure("18", what, "resident", max(megabytes), "MB", 30),
    ]


def compiling(bench):
    """What benchmarks/compile/measure.sh prints."""
    names = ["header", "mnist", "resnet18"] if bench.options.quick else []
    script = os.path.join(build.SOURCE, "benchmarks", "compile", "measure.sh")
    done = subprocess.run(["sh", script, *names], stdout=subprocess.PIPE, text=True, check=True)
    figures = []
    for line in done.stdout.splitlines()[2:]:
        name, seconds, bar, megabytes, memory_bar = (cell.strip() for cell in line.strip("|").split("|"))
        figures += [Figure("19", "compile time and memory of g++ -O2", name, float(seconds), "s", float(bar)),
                    Figure("19", "compile time and memory of g++ -O2", name, float(megabytes), "MB", float(memory_bar))]
    return figures


def size(bench):
    """What tests/compile/size.sh prints; it fails above the bar, and says the size all the same."""
    script = os.path.join(build.SOURCE, "tests", "compile", "size.sh")
    done = subprocess.run(["sh", script, build.SOURCE, build.compiler()[0]], stdout=subprocess.PIPE, text=True)
    kilobytes, bar = (int(digits) / 1024 for digits in re.search(r": (\d+) bytes, bar (\d+)", done.stdout).groups())
    title = "size of a stripped LeNet-5 trainer in graph mode, with data and saving"
    return [Figure("20", title, "", kilobytes, "KB", bar)]


NETWORKS = {"lenet/32": "LeNet-5, N = 32", "lenet/256": "LeNet-5, N = 256", "resnet18/32": "ResNet-18, N = 32"}


def memory(bench):
    """The arenas of training steps, and the least that is possible."""
    figures = []
    side = bench.ours("memory")
    try:
        for name, what in NETWORKS.items():
            arena, values, bound, bound_without_passes, all_values = side.check(name)
            title = f"memory of a training step, {what}"
            figures += [
                Figure("22", title, "arena with kernels' scratch", arena / 1024, "KB"),
                Figure("22", title, "planned memory / peak of live values", values / bound, "", 1.1),
                Figure(
                    "22",
                    title,
                    "peak of live values / this peak without passes (nothing fused or in place)",
                    bound / bound_without_passes,
                    "",
                ),
                Figure(
                    "22",
                    title,
                    "planned memory / sum of all values without passes",
                    values / all_values,
                    "",
                ),
            ]
    finally:
        side.close()
    return figures


BITS = {"lenet": "lenet/train/32", "mlp": "mlp784/train/64", "resnet": "resnet18/train/32"}


def bits(bench):
    """Losses of ten steps: both modes on one, two, and three threads."""
    figures = []
    for program, work in BITS.items():
        if bench.options.quick and program == "resnet":
            continue
        answers = []
        for threads in (1, 2, 3):
            side = Side(
                program,
                [build.program(program), str(threads), bench.folder.name],
                os.sched_getaffinity(0),
                f"{bench.logs}/{program}-bits.txt",
            )
            try:
                answers += [side.check(work, variant) for variant in ("graph", "pynative")]
            finally:
                side.close()
        title = "runs with losses that differ in a bit (graph and PyNative mode; 1, 2, and 3 threads)"
        figures.append(Figure("23", title, work, sum(answer != answers[0] for answer in answers), "", 0))
    return figures


# Name: what takes the figures, its row, and the programs it needs.
ALL = {
    "start": (start, "18", ("start",)),
    "compile": (compiling, "19", ()),
    "size": (size, "20", ()),
    "memory": (memory, "22", ("memory",)),
    "bits": (bits, "23", tuple(BITS)),
}


def of_allocations(results):
    """Row 21: the most that a call of any measured network allocated."""
    most = {}
    for result in results:
        for variant, facts in result.facts.items():
            if facts:
                kind = "training step" if "/train/" in result.work.name else "prediction"
                most[kind, variant] = max(most.get((kind, variant), 0), facts[1])
    names = {"training step": "/train/", "prediction": "/forward/"}
    return [
        Figure("21", f"heap allocations of a {kind}", variant, value, "", 0, names[kind])
        for (kind, variant), value in most.items()
    ]
