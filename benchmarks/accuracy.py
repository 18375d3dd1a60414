#!/usr/bin/env python3
"""Errors of long float32 computations against float64, beside PyTorch's: docs/accuracy.md and the bounds of its test.

    python3 benchmarks/accuracy.py [--only NAME] [--venv DIR] [--write]

Tenon's errors come from the program run/accuracy.cpp, PyTorch's from the files in benchmarks/accuracy/, which have the
same rows and the same data. --write puts the table into docs/accuracy.md, PyTorch's errors into
tests/support/accuracy_torch.hpp.
"""
import argparse
import os
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True
from harness import build
from harness.environment import Environment

PAGE = os.path.join(build.SOURCE, "docs", "accuracy.md")
HEADER = os.path.join(build.SOURCE, "tests", "support", "accuracy_torch.hpp")
DATA = ("constant", "random", "alternating", "offset")
BEGIN, END = "<!-- errors: begin -->\n", "<!-- errors: end -->\n"


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", metavar="NAME", default="", help="rows whose name contains NAME")
    parser.add_argument("--venv", metavar="DIR", default=os.path.join(build.FOLDER, "venv"),
                        help="virtual environment with PyTorch (default build/benchmarks/venv)")
    parser.add_argument("--write", action="store_true", help="write the table and the test's bounds")
    parser.add_argument("--torch", action="store_true", help=argparse.SUPPRESS)  # run in the environment
    options = parser.parse_args()
    if options.write and options.only:
        parser.error("--write needs all rows: no --only")
    return options


def print_torch(only):
    """A line `error length data name` for each row, as run/accuracy.cpp prints them."""
    from accuracy import rows
    for name, length, error in rows():
        for data in DATA:
            if only in name:
                print(f"{error(data):.9g} {length} {data} {name}", flush=True)


def errors(command):
    """{(name, length): {data: error}} of what a program prints, in its order."""
    result = {}
    lines = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()
    for error, length, data, name in (line.split(" ", 3) for line in lines):
        result.setdefault((name, int(length)), {})[data] = float(error)
    return result


def table(tenon, torch):
    """The lines of a Markdown table: each cell is Tenon's error beside PyTorch's."""
    yield "| computation | length | " + " | ".join(DATA) + " |"
    yield "|---|---:|" + "---|" * len(DATA)
    for (name, length), own in tenon.items():
        cells = (f"{own[data]:.1e} / {torch[name, length][data]:.1e}" for data in DATA)
        yield f"| {name} | {length:,} | " + " | ".join(cells) + " |"


def write(tenon, torch):
    with open(PAGE, encoding="utf-8") as page:
        before, rest = page.read().split(BEGIN)
    with open(PAGE, "w", encoding="utf-8") as page:
        page.write(before + BEGIN + "".join(line + "\n" for line in table(tenon, torch)) + END + rest.split(END)[1])
    with open(HEADER, "w", encoding="utf-8") as header:
        header.write(
            "// PyTorch's errors in float32, for constant, random, alternating data and data with an offset. "
            "Written by\n"
            "// `python3 benchmarks/accuracy.py --write`.\n#pragma once\n\n"
            "namespace support::accuracy {\n\n"
            "struct TorchErrors {\n  const char* name;\n  long length;\n  double error[4];\n};\n"
            "inline constexpr TorchErrors torch_errors[]{\n"
        )
        for (name, length), own in torch.items():
            header.write(f'    {{"{name}", {length}, {{{", ".join(f"{own[data]:.3g}" for data in DATA)}}}}},\n')
        header.write("};\n\n}  // namespace support::accuracy\n")


def main():
    options = arguments()
    if options.torch:
        return print_torch(options.only)
    environment = Environment(options.venv, install=True)
    if reason := environment.missing("pytorch"):
        sys.exit(f"PyTorch is missing: {reason}")
    build.build(["accuracy"])
    tenon = errors([build.program("accuracy"), options.only])
    torch = errors([environment.python_of("pytorch"), os.path.abspath(__file__), "--torch", "--only", options.only])
    if tenon.keys() != torch.keys():
        sys.exit(f"only one side has these rows: {sorted(tenon.keys() ^ torch.keys())}")
    for line in table(tenon, torch):
        print(line)
    if options.write:
        write(tenon, torch)


if __name__ == "__main__":
    main()
