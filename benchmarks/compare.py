#!/usr/bin/env python3
"""Tenon against PyTorch, ONNX Runtime, JAX, and MindSpore on the same cores: benchmarks/README.md says how it measures.

    python3 benchmarks/compare.py [--threads N] [--isa avx2] [--only NAME] [--rounds N] [--quick] [--list]
    python3 benchmarks/compare.py --random COUNT [--seed SEED]
"""
import argparse
import contextlib
import dataclasses
import glob
import importlib
import json
import math
import os
import platform
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True
import groups
from harness import build, figures, isa, readme, report, shapes, table
from harness.environment import Environment, variables
from harness.measure import measure
from harness.rivals import LIBRARIES, PROGRAMS
from harness.side import Failed, Missing, Side, quiet_cpus

# All files of groups/ but that of --random; these come first.
FIRST = ("lenet", "mlp", "eager", "gemm", "conv", "resnet")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=1, help="threads of every side (default 1)")
    parser.add_argument("--isa", choices=isa.MARCH, default="native",
                        help="the most that a side may use of the processor, if it can be told (default native)")
    parser.add_argument(
        "--only",
        metavar="NAME",
        action="append",
        help="works whose name contains NAME, or the row of that number; may be repeated",
    )
    parser.add_argument("--rounds", type=int, help="rounds in which the sides take turns (default 11)")
    parser.add_argument(
        "--quick",
        action="store_true",
        help="3 rounds of short turns, without compiled PyTorch and MindSpore: a trial, no measurement",
    )
    parser.add_argument(
        "--random",
        type=int,
        metavar="COUNT",
        help="instead of the works: so many random shapes of all kinds of kernels against PyTorch",
    )
    parser.add_argument("--seed", type=int, default=1, help="what --random draws (default 1)")
    parser.add_argument(
        "--readme", action="store_true", help="write what was measured into docs/figures.md, and README.md's part of it"
    )
    parser.add_argument("--list", action="store_true", help="print the works and their bars, and do nothing else")
    parser.add_argument("--venv", metavar="DIR", default=os.path.join(build.FOLDER, "venv"), 
                        help="virtual environment of the rivals (default build/benchmarks/venv)")
    parser.add_argument("--no-install", action="store_true", help="use the rivals that are there")
    parser.add_argument("--no-build", action="store_true", help="use the programs that are there")
    parser.add_argument(
        "--out",
        metavar="DIR",
        default=build.FOLDER,
        help="where results.json and results.md go (default build/benchmarks)",
    )
    options = parser.parse_args()
    if options.threads < 1 or (options.rounds is not None and options.rounds < 1):
        parser.error("--threads and --rounds need numbers from 1 on")
    if options.readme and (options.quick or options.random):
        parser.error("--readme takes measurements of works: neither --quick nor --random")
    if options.readme and options.isa != "native":
        parser.error("--readme writes what the processor can do: not with --isa")
    options.rounds = options.rounds or (3 if options.quick else 11)
    return options


def chosen(options):
    """Groups with the works that were asked for, and the names of figures."""
    files = glob.glob(os.path.join(os.path.dirname(os.path.abspath(groups.__file__)), "[a-z]*.py"))
    names = sorted({os.path.basename(path)[:-3] for path in files} - {"random", *FIRST})
    all_groups = {name: importlib.import_module("groups." + name).GROUP for name in (*FIRST, *names)}
    known = {work.name for group in all_groups.values() for work in group.works}

    def fits(asked, work, rows):
        """A whole name is that work and no other: lenet/train/1 is not lenet/train/16."""
        return asked in rows if asked.isdigit() else asked == work.name if asked in known else asked in work.name

    result = []
    for name, group in all_groups.items():
        rows = {
            work: {bar.row for bar in work.bars} | {mean.row for mean in group.means if work.name in mean.works}
            for work in group.works
        }
        works = [
            work
            for work in group.works
            if not options.only or any(fits(asked, work, rows[work]) for asked in options.only)
        ]
        if works:
            result.append((name, group, works))
    kinds = [
        name
        for name, (_, row, _) in figures.ALL.items()
        if not options.only or any(o == row or o in name for o in options.only)
    ]
    if not result and not kinds:
        sys.exit(f"no work fits {options.only}; --list prints them")
    return result, kinds


def bounds(bar):
    """>= gate (goal) x, or nothing if there is no gate."""
    goal = f" ({bar.goal:g})" if math.isfinite(bar.goal) else ""
    return f">= {bar.gate:g}{goal} x" if math.isfinite(bar.gate) else "against"


def print_list(some, kinds):
    for _, group, works in some:
        for work in works:
            print(f"{work.name:22} {', '.join(work.rivals)}")
            for bar in work.bars:
                threads = f", {bar.threads} threads" if bar.threads not in (None, 1) else ""
                print(f"    row {bar.row}: {bar.ours} {bounds(bar)} {bar.rival}{threads}")
        for mean in group.means:
            if any(work.name in mean.works for work in works):
                print(f"{mean.middle} of {len(mean.works)} {mean.what}")
                print(
                    f"    {f'row {mean.row}: ' if mean.row else ''}{mean.ours or 'ours'} {bounds(mean)} {mean.rival}"
                    + (f", none below {mean.least:g}" if mean.least else "")
                )
    for name in kinds:
        take, row, _ = figures.ALL[name]
        print(f"{name}\n    row {row}: {take.__doc__}")


class Bench:
    """One run: the sides, what they answered, what went wrong."""

    def __init__(self, options):
        self.options = options
        self.environment = Environment(options.venv, not options.no_install)
        self.cpus = quiet_cpus(options.threads)
        self.folder = tempfile.TemporaryDirectory()
        self.logs = os.path.join(options.out, "logs")
        os.makedirs(self.logs, exist_ok=True)
        self.skipped, self.faults, self.results, self.rows, self.figures = {}, [], [], [], []
        self.isa = {"ours": build.instruction_set()}  # side: what it reports of its instruction set
        print(f"instruction set of ours: {self.isa['ours']}", flush=True)

    def ours(self, program, *arguments, path=None):
        """One of our programs as a side."""
        return Side(program, [path or build.program(program), *arguments], self.cpus, f"{self.logs}/{program}.txt")

    def rival(self, name, group_name):
        reason = self.environment.missing(name)
        if reason:
            raise Missing(reason)
        if name in LIBRARIES:
            library = self.environment.library_of(name)
            if not library:
                raise Missing("its wheel has no such library")
            command = [build.program("blas"), *library]
        elif name in PROGRAMS:
            program, wrong = build.rival_program(name, PROGRAMS[name].source, self.environment.flags_of(name))
            if wrong:
                raise Missing("it cannot be built: " + wrong)
            command = [program, str(self.options.threads)]
        else:
            command = [
                self.environment.python_of(name),
                "-B",
                "-m",
                "harness.rival",
                group_name,
                name,
                str(self.options.threads),
                self.folder.name,
            ]
        environment = variables(self.options.threads, self.options.isa) | self.environment.variables_of(name)
        side = Side(name, command, self.cpus, f"{self.logs}/{group_name}-{name}.txt", environment)
        if name not in self.isa:
            self.isa[name] = side.isa()
            print(f"instruction set of {name}: {self.isa[name]}", flush=True)
            if reason := isa.unbound(name, self.options.isa):
                print(f"NOT BOUND to {self.options.isa}: {name}: {reason}", flush=True)
                self.isa[name] += f" (not bound: {reason})"
        return side

    def run_random(self):
        """Random shapes: a program of their own, and a table of the worst ratios."""
        drawn = shapes.drawn(self.options.random, self.options.seed)
        program = shapes.build_program(drawn)
        with contextlib.ExitStack() as stack:
            peak, ours = self.ours("peak"), Side(
                "random", [program, str(self.options.threads), self.folder.name], self.cpus, f"{self.logs}/random.txt"
            )
            rival = self.rival("pytorch", "random")
            for side in (peak, ours, rival):
                stack.callback(side.close)
            for work in shapes.works(drawn):
                result = measure(
                    work,
                    {"pynative": (ours, "pynative"), "pytorch": (rival, "-")},
                    peak,
                    self.options.rounds,
                    self.turn,
                )
                self.tell(result)

    @property
    def turn(self):
        return 5e3 if self.options.quick else 20e3

    def run_group(self, name, group, works):
        turn = self.turn
        with contextlib.ExitStack() as stack:
            def started(side):
                stack.callback(side.close)
                return side

            peak = started(self.ours("peak"))
            program = table.program(group.rows, works) if group.rows else build.program(group.program)
            ours = started(self.ours(group.program, str(self.options.threads), self.folder.name, path=program))
            rivals, results = {}, {}
            for rival in dict.fromkeys(rival for work in works if not work.lacks for rival in work.rivals):
                try:
                    if self.options.quick and rival in ("compiled", "mindspore"):
                        raise Missing("left out by --quick")
                    rivals[rival] = started(self.rival(rival, name))
                except Missing as missing:
                    print(f"skipped: {rival}: {missing}", flush=True)
                    self.skipped[rival] = str(missing)
            for work in works:
                if work.lacks:
                    print(f"skipped: {work.name}: {work.lacks}", flush=True)
                    self.skipped[work.name] = work.lacks
                    self.rows += report.rows_without(work, self.options.threads)
                    continue
                while work.name not in results:
                    sides = {variant: (ours, variant) for variant in work.ours} | {
                        rival: (rivals[rival], "-") for rival in work.rivals if rival in rivals
                    }
                    try:
                        results[work.name] = measure(work, sides, peak, self.options.rounds, turn)
                    except Failed as failed:
                        if failed.side not in rivals:
                            raise
                        self.fault(str(failed))
                        del rivals[failed.side]  # go on without it
                self.tell(results[work.name])
            for mean in group.means:
                if all(work in results for work in mean.works):
                    self.rows.append(report.row_of_mean(mean, results, self.options.threads))

    def fault(self, sentence):
        self.faults.append(sentence)
        print("WRONG:", sentence, file=sys.stderr, flush=True)

    def tell(self, result):
        self.results.append(result)
        self.rows += report.rows_of(result, self.options.threads)
        times = ", ".join(f"{side} {report.number(result.median(side), 4)}" for side in result.times)
        noise = (f", {result.dropped} rounds dropped" if result.dropped else "") + (", noisy" if result.noisy else "")
        print(
            f"{result.work.name}: {times} us; {report.speeds([result])}{noise}",
            flush=True,
        )
        for side, what in result.differs.items():
            self.fault(f"{result.work.name}: {side} computes something else: {what}")

    def take_figures(self, kinds):
        self.figures += figures.of_allocations(self.results)
        for name in kinds:
            taken = figures.ALL[name][0](self)
            print(
                f"{name}:",
                ", ".join(f"{report.number(figure.value)} {figure.unit}".strip() for figure in taken),
                flush=True,
            )
            self.figures += [dataclasses.replace(figure, only=name) for figure in taken]
        for figure in self.figures:
            if figure.row == "23" and figure.met == "no":
                self.fault(f"{figure.what}: {figure.value:g}")

    def write_readme(self):
        names = ("pytorch", "jax", "onnxruntime", "onednn")
        known = [rival for rival in names if not self.environment.missing(rival)]
        rivals = {package: version for rival in known for package, version in self.environment.versions(rival).items()}
        compiled = f"{build.compiler_version()} -O2 -march={isa.MARCH[self.options.isa]}"
        machine = readme.machine(cpu_name(), self.isa["ours"], compiled, rivals)
        lines = readme.lines_of(self.rows, self.figures, self.options.threads)
        readme.update(os.path.join(build.SOURCE, "docs", "figures.md"), lines, machine)
        readme.update(os.path.join(build.SOURCE, "README.md"), lines, machine, add=False)

    def write(self, name="results", text=None):
        name += isa.suffix(self.options.isa)
        versions = {}
        for rival in {side for result in self.results for side in result.times if side not in result.work.ours}:
            versions |= {
                package: version
                for package, version in self.environment.versions(rival).items()
                if package not in versions
            }
        peaks = [peak for result in self.results for peak in result.peaks] or [math.nan]
        facts = {
            "threads": self.options.threads,
            "rounds": self.options.rounds,
            "quick": self.options.quick,
            "command": sys.argv[1:],
            "cpu": cpu_name(),
            "isa": self.options.isa,
            "isa_reported": self.isa,
            "cpus": self.cpus,
            "versions": versions,
            "skipped": self.skipped,
            "peak_gflops_of_one_core": [min(peaks), max(peaks)],
            "speeds_of_one_core": report.speeds(self.results) if self.results else "",
        }
        if self.options.readme:
            self.write_readme()
        text = text or report.markdown(self.rows, self.figures)
        with open(f"{self.options.out}/{name}.json", "w") as file:
            json.dump(report.as_json(self.results, self.rows, self.figures, facts), file, indent=1)
        with open(f"{self.options.out}/{name}.md", "w") as file:
            print(text, file=file)
        print(
            f"\n{facts['cpu']}, {self.isa['ours']}, {facts['threads']} thread(s);",
            f"{report.speeds(self.results)};" if self.results else "",
            ", ".join(f"{package} {version}" for package, version in sorted(versions.items())),
        )
        if self.results and min(peaks) < 0.85 * max(peaks) or any(result.noisy for result in self.results):
            print(
                "Other programs took the processors: measure again the rows marked noisy, and all if the peak "
                "varied by more than 15 %."
            )
        print(f"\n{text}\n\nwritten: {self.options.out}/{name}.json, {name}.md")


def cpu_name():
    with contextlib.suppress(OSError, StopIteration):
        with open("/proc/cpuinfo") as file:
            return next(line.split(":")[1].strip() for line in file if line.startswith("model name"))
    return platform.machine()


def main():
    options = arguments()
    build.isa = options.isa
    if options.random:
        if not options.no_build:
            build.build(["peak"])
        bench = Bench(options)
        bench.run_random()
        bench.write("random", report.of_shapes(bench.results, options.threads))
        return bench.faults and sys.exit("\n".join(["FAILED:", *bench.faults]))
    some, kinds = chosen(options)
    if options.list:
        return print_list(some, kinds)
    programs = [group.program for _, group, _ in some if not group.rows]
    programs += [program for kind in kinds for program in figures.ALL[kind][2]]
    if not options.no_build:
        build.build(
            dict.fromkeys(["peak", *programs, *(["blas"] if any(name == "gemm" for name, _, _ in some) else [])])
        )
    bench = Bench(options)
    for name, group, works in some:
        bench.run_group(name, group, works)
    bench.take_figures(kinds)
    bench.write()
    if bench.faults:
        sys.exit("\n".join(["FAILED:", *bench.faults]))


if __name__ == "__main__":
    try:
        main()
    except (Failed, Missing, subprocess.CalledProcessError) as error:
        sys.exit(f"compare.py: {error}")
