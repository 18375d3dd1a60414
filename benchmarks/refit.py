#!/usr/bin/env python3
"""Measures and refits the constants by which kernels are cut and chosen: ConvCosts (conv/choose.hpp), WeightCosts
(conv/weight_gradient_plan.hpp), WinogradCosts (winograd/plan.hpp), and ProductCosts (gemm/plan.hpp).

    python3 benchmarks/refit.py [conv|weight|winograd|product]...   default: all
      --isa avx2          for x86-64-v3 instead of this processor
      --rounds N          rounds of timing, in which each plan has one turn (5)
      --turn SECONDS      of a plan in a round (0.02)
      --only WORD         works whose name contains it
      --no-build          use the program that is there

For each work of a grid (layers of networks, some odd shapes) it asks benchmarks/run/refit.cpp which plans the work gets
if one constant is a quarter to four times its value, times each distinct plan once a round, and prints per constant the
present and the best value, what both lose against always choosing the best plan, and in how many of 200 resamples of
works and rounds the best value takes less time. The last line is what all present constants lose together; it finds the
best plan in half of the rounds and compares in the other half. Change a constant only where both --isa print `change`.
Constants that shape templates (widths of blocks, products of sizes that the compiler knows) have no plan to compare
here: no plan depends on them."""
import argparse
import os
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import build  # noqa: E402
from harness.fit import Work, around, fit, table  # noqa: E402

# c, h, w, o, kernel, stride, padding
LAYERS = [(1, 28, 28, 6, 5, 1, 2), (6, 14, 14, 16, 5, 1, 0), (3, 32, 32, 16, 3, 1, 1), (16, 16, 16, 32, 3, 2, 1),
          (64, 28, 28, 64, 3, 1, 1), (128, 28, 28, 128, 3, 2, 1), (128, 14, 14, 128, 3, 1, 1),
          (256, 14, 14, 256, 3, 1, 1),
          (256, 7, 7, 512, 3, 1, 1), (512, 7, 7, 128, 1, 1, 0), (128, 28, 28, 64, 1, 1, 0), (64, 14, 14, 256, 1, 1, 0),
          (3, 112, 112, 32, 7, 2, 3), (24, 13, 17, 40, 3, 1, 1), (5, 31, 31, 33, 3, 1, 1), (32, 9, 9, 96, 5, 1, 2),
          (48, 20, 20, 48, 3, 1, 0), (17, 23, 11, 70, 3, 2, 1)]
PRODUCTS = [(32, 120, 400), (32, 84, 120), (256, 256, 256), (64, 512, 512), (512, 64, 512), (16, 1024, 1024),
            (1024, 16, 256), (400, 120, 32), (128, 384, 128), (96, 96, 96), (512, 512, 64), (33, 77, 259),
            (8, 2048, 128), (200, 30, 1000), (1000, 200, 30), (768, 128, 768), (512, 512, 512), (128, 1024, 1024),
            (100, 1000, 700), (24, 300, 2000), (64, 576, 3136), (250, 500, 250)]


def conv_works(parts, layers=LAYERS):
    for c, h, w, o, kernel, stride, pad in layers:
        for part in parts:
            for where, n in (("rows", 1), ("rows", 6), ("blocks", 16)):
                yield f"{where}-{part},{n},{c},{h},{w},{o},{kernel},{kernel},{stride},{stride},{pad},{pad}"


WORKS = {
    "conv": lambda: conv_works(("y", "dx")),
    "weight": lambda: conv_works(("dw",)),
    "winograd": lambda: conv_works(("y", "dx", "dw"), [layer for layer in LAYERS if layer[4:6] == (3, 1)]),
    "product": lambda: (
        f"{a}-{b},{m},{n},{k}" for m, n, k in PRODUCTS for a, b in (("a", "b"), ("a", "bt"), ("at", "b"))
    ),
}


class Program:
    def __init__(self, command):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, *words):
        self.process.stdin.write(" ".join(map(str, words)) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            raise SystemExit(f"refit.py: the program ended at: {' '.join(map(str, words))}")
        return answer.strip()


def costs_of(program, family):
    words = program.ask("costs", family).split()
    return {name: int(value) for name, value in zip(words[::2], words[1::2])}


def measured(program, family, name, costs, options):
    """The plans of a work and the times of each."""
    work = Work(name, program.ask("plan", family, name, "-", 0))
    example = {work.now: ("-", 0)}
    for constant, now in costs.items():
        for value in around(now):
            plan = program.ask("plan", family, name, constant, value)
            work.plans[constant, value] = plan
            example.setdefault(plan, (constant, value))
    if len(example) > 1:
        for turn in range(options.rounds):
            plans = list(example)
            for plan in plans[turn % len(plans):] + plans[:turn % len(plans)]:
                time = float(program.ask("time", family, name, *example[plan], options.turn))
                work.times.setdefault(plan, []).append(time)
    program.ask("forget", "-")
    return work


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("family", nargs="*", choices=[[], *WORKS], default=[])
    parser.add_argument("--isa", choices=["native", "avx2"], default="native")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--turn", type=float, default=0.02)
    parser.add_argument("--only", default="")
    parser.add_argument("--no-build", action="store_true")
    options = parser.parse_args()
    if options.rounds < 2:
        parser.error("--rounds must be 2 or more: the best plan is found in some and compared in others")
    build.isa = options.isa
    if not options.no_build:
        build.build(["refit"])
    program = Program([build.program("refit")])
    for family in options.family or WORKS:
        costs = costs_of(program, family)
        names = [name for name in WORKS[family]() if options.only in name]
        works = []
        for name in names:
            works.append(measured(program, family, name, costs, options))
            print(f"{name}: {len(works[-1].times) or 1} plans", file=sys.stderr, flush=True)
        timed = [work for work in works if work.times]
        fits = [fit(timed, constant, now, around(now)) for constant, now in costs.items()]
        print(f"\n## {family}, {options.isa}: {len(names)} works, {len(timed)} with several plans\n")
        print(table(fits, timed), flush=True)


if __name__ == "__main__":
    main()
