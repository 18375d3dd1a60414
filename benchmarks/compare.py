#!/usr/bin/env python3
"""Tenon against PyTorch, ONNX Runtime, JAX, and MindSpore on the same cores: benchmarks/README.md says how it measures.

    python3 benchmarks/compare.py [--threads N] [--only NAME] [--rounds N] [--quick] [--list]
"""
import argparse
import contextlib
import importlib
import json
import os
import platform
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True
from harness import build, report
from harness.environment import Environment, variables
from harness.measure import measure
from harness.rivals import LIBRARIES
from harness.side import Failed, Missing, Side, quiet_cpus

GROUPS = ("lenet", "mlp", "gpt", "gemm")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=1, help="threads of every side (default 1)")
    parser.add_argument("--only", metavar="NAME", action="append", help="works whose name contains NAME, or the row of that number; may be repeated")
    parser.add_argument("--rounds", type=int, help="rounds in which the sides take turns (default 11)")
    parser.add_argument("--quick", action="store_true", help="3 rounds of short turns, without compiled PyTorch and MindSpore: a trial, no measurement")
    parser.add_argument("--list", action="store_true", help="print the works and their bars, and do nothing else")
    parser.add_argument("--venv", metavar="DIR", default=os.path.join(build.FOLDER, "venv"), 
                        help="virtual environment of the rivals (default build/benchmarks/venv)")
    parser.add_argument("--no-install", action="store_true", help="use the rivals that are there")
    parser.add_argument("--no-build", action="store_true", help="use the programs that are there")
    parser.add_argument("--out", metavar="DIR", default=build.FOLDER, help="where results.json and results.md go (default build/benchmarks)")
    options = parser.parse_args()
    if options.threads < 1 or (options.rounds is not None and options.rounds < 1):
        parser.error("--threads and --rounds need numbers from 1 on")
    options.rounds = options.rounds or (3 if options.quick else 11)
    return options


def chosen(options):
    """Groups with the works that were asked for."""
    result = []
    for name in GROUPS:
        group = importlib.import_module("groups." + name).GROUP
        rows = {work: {bar.row for bar in work.bars} | {mean.row for mean in group.means if work.name in mean.works} for work in group.works}
        works = [work for work in group.works if not options.only or any(o in rows[work] if o.isdigit() else o in work.name for o in options.only)]
        if works:
            result.append((name, group, works))
    if not result:
        sys.exit(f"no work fits {options.only}; --list prints them")
    return result


def print_list(groups):
    for _, group, works in groups:
        for work in works:
            print(f"{work.name:22} {', '.join(work.rivals)}")
            for bar in work.bars:
                threads = f", {bar.threads} threads" if bar.threads not in (None, 1) else ""
                print(f"    row {bar.row}: {bar.ours} >= {bar.gate:g} ({bar.goal:g}) x {bar.rival}{threads}")
        for mean in group.means:
            if any(work.name in mean.works for work in works):
                print(f"geometric mean of {len(mean.works)} {mean.what}")
                print(f"    row {mean.row}: {mean.ours} >= {mean.gate:g} ({mean.goal:g}) x {mean.rival}, none below {mean.least:g}")


class Bench:
    """One run: the sides, what they answered, what went wrong."""

    def __init__(self, options):
        self.options = options
        self.environment = Environment(options.venv, not options.no_install)
        self.cpus = quiet_cpus(options.threads)
        self.folder = tempfile.TemporaryDirectory()
        self.logs = os.path.join(options.out, "logs")
        os.makedirs(self.logs, exist_ok=True)
        self.skipped, self.faults, self.results, self.rows = {}, [], [], []

    def ours(self, program, *arguments):
        return Side(program, [build.program(program), *arguments], self.cpus, f"{self.logs}/{program}.txt")

    def rival(self, name, group_name):
        reason = self.environment.missing(name)
        if reason:
            raise Missing(reason)
        if name in LIBRARIES:
            library = self.environment.library_of(name)
            if not library:
                raise Missing("its wheel has no such library")
            command = [build.program("blas"), *library]
        else:
            command = [self.environment.python_of(name), "-B", "-m", "harness.rival", group_name, name, str(self.options.threads), self.folder.name]
        return Side(name, command, self.cpus, f"{self.logs}/{group_name}-{name}.txt", variables(self.options.threads))

    def run_group(self, name, group, works):
        turn = 5e3 if self.options.quick else 20e3
        with contextlib.ExitStack() as stack:
            def started(side):
                stack.callback(side.close)
                return side

            peak = started(self.ours("peak"))
            ours = started(self.ours(group.program, str(self.options.threads), self.folder.name))
            rivals, results = {}, {}
            for rival in dict.fromkeys(rival for work in works for rival in work.rivals):
                try:
                    if self.options.quick and rival in ("compiled", "mindspore"):
                        raise Missing("left out by --quick")
                    rivals[rival] = started(self.rival(rival, name))
                except Missing as missing:
                    print(f"skipped: {rival}: {missing}", flush=True)
                    self.skipped[rival] = str(missing)
            for work in works:
                while work.name not in results:
                    sides = {variant: (ours, variant) for variant in work.ours} | {rival: (rivals[rival], "-") for rival in work.rivals if rival in rivals}
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
        print(f"{result.work.name}: {times} us; peak {min(result.peaks):.0f}-{max(result.peaks):.0f} GFLOP/s{noise}", flush=True)
        for side, what in result.differs.items():
            self.fault(f"{result.work.name}: {side} computes something else: {what}")

    def write(self):
        versions = {}
        for rival in {side for result in self.results for side in result.times if side not in result.work.ours}:
            versions |= {package: version for package, version in self.environment.versions(rival).items() if package not in versions}
        peaks = [peak for result in self.results for peak in result.peaks]
        facts = {"threads": self.options.threads, "rounds": self.options.rounds, "quick": self.options.quick, "cpu": cpu_name(), "cpus": self.cpus,
                 "versions": versions, "skipped": self.skipped, "peak_gflops_of_one_core": [min(peaks), max(peaks)]}
        table = report.markdown(self.rows)
        with open(f"{self.options.out}/results.json", "w") as file:
            json.dump(report.as_json(self.results, self.rows, facts), file, indent=1)
        with open(f"{self.options.out}/results.md", "w") as file:
            print(table, file=file)
        print(f"\n{facts['cpu']}, {facts['threads']} thread(s); FMA peak of one core {min(peaks):.0f}-{max(peaks):.0f} GFLOP/s;",
              ", ".join(f"{package} {version}" for package, version in sorted(versions.items())))
        if min(peaks) < 0.85 * max(peaks) or any(result.noisy for result in self.results):
            print("Other programs took the processors: measure again the rows marked noisy, and all if the peak varied by more than 15 %.")
        print(f"\n{table}\n\nwritten: {self.options.out}/results.json, results.md")


def cpu_name():
    with contextlib.suppress(OSError, StopIteration):
        with open("/proc/cpuinfo") as file:
            return next(line.split(":")[1].strip() for line in file if line.startswith("model name"))
    return platform.machine()


def main():
    options = arguments()
    groups = chosen(options)
    if options.list:
        return print_list(groups)
    if not options.no_build:
        build.build(["peak", *(group.program for _, group, _ in groups), *(["blas"] if any(name == "gemm" for name, _, _ in groups) else [])])
    bench = Bench(options)
    for name, group, works in groups:
        bench.run_group(name, group, works)
    bench.write()
    if bench.faults:
        sys.exit("\n".join(["FAILED:", *bench.faults]))


if __name__ == "__main__":
    try:
        main()
    except (Failed, Missing, subprocess.CalledProcessError) as error:
        sys.exit(f"compare.py: {error}")
