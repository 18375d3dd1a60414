"""The tables of figures in docs/figures.md, which has all, and in README.md, a choice of them: each between two marks.
A run replaces the lines that it measured and leaves the others."""

import math
import re
import textwrap

from harness.report import number

BEGIN, END = "<!-- figures: benchmarks/compare.py --readme -->", "<!-- end of figures -->"
HEAD = ["| what | figure | command |", "|---|---|---|"]


def time_of(microseconds):
    for unit, size in (("s", 1e6), ("ms", 1e3), ("µs", 1)):
        if microseconds >= size:
            return f"{number(microseconds / size)} {unit}"
    return f"{number(microseconds * 1e3)} ns"


def versus(rows):
    """graph 0.82 ms: 1.9 x pytorch, 71 % of the FMA peak; pynative ..."""
    parts = {}
    for row in rows:
        time = f"{row.ours} {time_of(row.microseconds)}" if math.isfinite(row.microseconds) else row.ours
        ratio = (
            f"{100 * row.ratio:.0f} % of the FMA peak"
            if row.against == "peak"
            else f"{number(row.ratio)} x {row.against.removeprefix('best: ')}"
        )
        parts.setdefault(time, []).append(ratio)
    return "; ".join(f"{time}: {', '.join(ratios)}" for time, ratios in parts.items())


def lines_of(rows, figures, threads):
    """{what: line} of rows with bars, and of figures."""
    option = f"--threads {threads} " if threads != 1 else ""
    wheres = f", {threads} threads" if threads != 1 else ""
    works = {}
    for row in rows:
        if row.row and math.isfinite(row.ratio):
            works.setdefault((row.title + wheres, row.only), []).append(row)
    lines = {
        what: f"| {what} | {versus(some)} | `compare.py {option}--only {only}` |"
        for (what, only), some in works.items()
    }
    groups = {}
    for figure in figures:
        groups.setdefault((figure.title, figure.only), []).append(
            f"{figure.short} {number(figure.value)} {figure.unit}".strip()
        )
    lines |= {
        what: f"| {what} | {', '.join(values)} | `compare.py --only {only}` |"
        for (what, only), values in groups.items()
    }
    return lines


def machine(cpu, used, compiled, rivals):
    """On what it was measured: the instruction set is the one that our programs used."""
    versions = ", ".join(" ".join(v) for v in sorted(rivals.items()))
    return (
        f"Measured on {cpu} with {used}, {compiled}, one thread unless the row states another number; {versions}. "
        "`compare.py` is short for `python3 benchmarks/compare.py`; `a x b` means `a` times as fast as `b`."
    )


def update(path, lines, machine, add=True):
    """Writes the lines into the file; raises ValueError if it has no marks. Without `add` only what the table has."""
    with open(path) as file:
        text = file.read()
    if BEGIN not in text or END not in text:
        raise ValueError(f"{path} has no marks '{BEGIN}' and '{END}'")
    before, rest = text.split(BEGIN, 1)
    old, after = rest.split(END, 1)
    table = {
        line.split(" | ")[0].removeprefix("| "): line
        for line in old.splitlines()
        if line.startswith("| ") and line != HEAD[0]
    }
    table |= {what: line for what, line in lines.items() if add or what in table}
    whole = re.sub("`[^`]*`", lambda code: code[0].replace(" ", "\0"), machine)  # no line ends within code
    sentence = textwrap.fill(whole, 120, break_long_words=False, break_on_hyphens=False).replace("\0", " ")
    with open(path, "w") as file:
        file.write("\n".join([before + BEGIN, sentence, "", *HEAD, *table.values(), END]) + after)
