#!/usr/bin/env python3
"""The time of a step of dist::DataParallel on many ranks, from a step that one rank computes here and published links.

    python3 benchmarks/simulate.py [--only NAME] [--links NAME]... [--ranks N]... [--programs DIR]
    python3 benchmarks/simulate.py --check [--only NAME] [--mpirun PROGRAM] [--programs DIR]

A program (run/ranks_*.cpp) trains as one rank of N without the others (run/mirror.hpp). It prints what this rank sends
and receives in its fastest step: after which time each bucket of gradients is complete, when messages can make
progress, and what it takes to add the parts of all ranks. Here these messages get a link. All ranks do the same, each
has a link of its own, and what arrives goes one message after the other.

--check compares with real ranks on this machine, whose messages arrive as late as on a link (run/linked.hpp).
"""
import argparse
import collections
import os
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True

# latency of a message in seconds, bytes per second in each direction, seconds of the processor per message
Link = collections.namedtuple("Link", "latency rate message")

# A rank starts four million messages per second: what MPIs report for a pair of ranks.
MESSAGE = 0.25e-6
# Rates are those of the standards: IEEE 802.3ae and 802.3ba, HDR and NDR of the InfiniBand Trade Association, and half
# of the 900 GB/s that NVIDIA gives for both directions of NVLink of an H100. Latencies: of Ethernet with the TCP of the
# kernel 20 to 50 us, with RDMA 3 to 4 us, of MPI on InfiniBand about 1 us; NCCL's table of latencies has 3.4 us for a
# hop in a ring of NVLinks.
LINKS = {
    "10 Gb Ethernet": Link(30e-6, 10e9 / 8, MESSAGE),
    "100 Gb Ethernet": Link(3.5e-6, 100e9 / 8, MESSAGE),
    "InfiniBand HDR": Link(1e-6, 200e9 / 8, MESSAGE),
    "InfiniBand NDR": Link(1e-6, 400e9 / 8, MESSAGE),
    "NVLink 4": Link(3.4e-6, 450e9, MESSAGE),
}
RANKS = (2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)
# Network: its program, samples of a rank (weak scaling), samples of all ranks (strong scaling), the least samples of a
# rank, steps, and how many at first do not count.
Work = collections.namedtuple("Work", "program each all least steps first")
WORKS = {
    "lenet": Work("ranks_lenet", 64, 1024, 1, 60, 20),
    "gpt": Work("ranks_gpt", 4, 128, 1, 8, 2),
    "resnet18": Work("ranks_resnet", 16, 256, 2, 5, 1),
}
# Links for --check, microseconds and MB per second: so slow that messages take a part of a step.
CHECKED = {"lenet": ((200, 200), (1000, 100)), "gpt": ((50, 500), (200, 200)), "resnet18": ((50, 500), (200, 100))}
BAR = 0.15


def step_seconds(trace, link, overlap=True):
    """The seconds of a step whose messages have a link. `trace`: what run/mirror.hpp prints."""
    buckets, computed = trace["buckets"], trace["computed"]
    rounds = 2 if trace["agreed_messages"] else 0  # before a step: whether one stops, and what they train with
    late = trace["agreed_messages"] * link.message + rounds * link.latency + trace["agreed_bytes"] / link.rate
    free, arrivals, sums, added = 0.0, [], [], 0

    def start(now, messages, count, into):
        nonlocal free, late
        free = max(free, now) + messages / link.rate
        into.append(free + link.latency)
        late += count * link.message

    def add(now):
        nonlocal late, added
        bucket = buckets[added]
        late = now - own + bucket["add"]
        start(own + late, bucket["sum_bytes"], bucket["sum_messages"], sums)
        added += 1

    ready = [(bucket["ready"] if overlap else computed, 0, k) for k, bucket in enumerate(buckets)]
    polls = [(poll, 1, 0) for poll in trace["polls"]] if overlap else []
    for own, is_poll, k in sorted(ready + polls):
        if not is_poll:
            start(own + late, buckets[k]["bytes"], buckets[k]["messages"], arrivals)
        else:
            while added < len(arrivals) and arrivals[added] <= own + late:
                add(own + late)
    own = computed
    while added < len(buckets):
        add(max(own + late, arrivals[added]))
    last = max([own + late, *sums])
    return last + trace["end"] - computed - sum(bucket["add"] for bucket in buckets)


class Program:
    """A program of run/ranks_*.cpp; its traces are kept."""

    def __init__(self, name, options, folder):
        from distributed import run
        from harness import build
        self.run, self.work, self.folder, self.options = run, WORKS[name], folder, options
        program = self.work.program
        self.path = os.path.join(options.programs, program) if options.programs else build.program(program)
        run([self.path, folder, "2", "0", "0", "1"])  # writes the weights

    def trace(self, ranks, samples):
        """A step of one rank of `ranks`, with this many samples of its own."""
        return self.run([self.path, self.folder, str(samples), "0", str(self.work.steps), str(self.work.first), "alone",
                         str(ranks)])

    def real(self, ranks, samples, link):
        """The seconds of the fastest step of real ranks."""
        allowed = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                       OMPI_MCA_rmaps_base_oversubscribe="1")
        return self.run([self.options.mpirun, "-n", str(ranks), self.path, self.folder, str(samples * ranks), "0",
                         str(max(16, self.work.steps)), "1", *map(str, link), "processor"], allowed)["least"]


def print_table(title, traces, links):
    """A line per link, a column per number of ranks: milliseconds of a step, and without overlap."""
    print(f"\n{title}\n\n| link | " + " | ".join(f"{ranks:,}" for ranks in traces) + " |")
    print("|---" * (len(traces) + 1) + "|")
    for name in links:
        cells = []
        for trace in traces.values():
            times = [1e3 * step_seconds(trace, LINKS[name], overlap) for overlap in (True, False)]
            cells.append(" / ".join(f"{time:.3g}" if time < 1000 else f"{time:.0f}" for time in times))
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)


def scale(name, program, options):
    work = program.work
    alone = program.trace(1, work.each)["end"]
    weak = {ranks: program.trace(ranks, work.each) for ranks in options.ranks}
    print_table(f"{name}, {work.each} samples on each rank ({1e3 * alone:.3g} ms alone): ms of a step, and without "
                "overlap", weak, options.links)
    strong = {ranks: program.trace(ranks, work.all // ranks) for ranks in options.ranks
              if work.all // ranks >= work.least}
    print_table(f"{name}, {work.all} samples on all ranks: ms of a step, and without overlap", strong, options.links)


def check(name, program):
    """Prints what the simulation says and what real ranks take, each in the time of its processor: the machine may
    have fewer processors than ranks. Ranks share caches and memory, so what one computes is taken as much slower as
    without a link."""
    samples, met = program.work.each, True
    for ranks in (2, 4):
        trace = program.trace(ranks, samples)
        plain = program.real(ranks, samples, (0, 0))
        slower = plain / step_seconds(trace, Link(0, float("inf"), 0))
        for bucket in trace["buckets"]:
            bucket["ready"] *= slower
            bucket["add"] *= slower
        trace.update(computed=trace["computed"] * slower, end=trace["end"] * slower,
                     polls=[poll * slower for poll in trace["polls"]])
        for microseconds, megabytes in CHECKED[name]:
            says = step_seconds(trace, Link(microseconds * 1e-6, megabytes * 1e6, 0))
            real = program.real(ranks, samples, (microseconds, megabytes))
            error = says / real - 1
            met = met and abs(error) <= BAR
            print(f"{name:9} {ranks} ranks, {microseconds} us, {megabytes} MB/s: simulated {1e3 * says:.3f} ms, real "
                  f"{1e3 * real:.3f} ms ({100 * error:+.0f} %); without a link {1e3 * plain:.3f} ms", flush=True)
    print(f"{name:9} within {100 * BAR:.0f} %: {'met' if met else 'NOT met'}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", metavar="NAME", action="append", help="networks whose name contains NAME")
    parser.add_argument("--links", metavar="NAME", action="append", help="links whose name contains NAME")
    parser.add_argument("--ranks", metavar="N", type=int, action="append")
    parser.add_argument("--check", action="store_true", help="compare with 2 and 4 real ranks")
    parser.add_argument("--mpirun", default="mpirun")
    parser.add_argument("--programs", metavar="DIR", help="programs that are built already")
    options = parser.parse_args()
    options.links = [name for name in LINKS if not options.links or any(part in name for part in options.links)]
    options.ranks = options.ranks or RANKS
    names = [name for name in WORKS if not options.only or any(part in name for part in options.only)]
    if not names:
        parser.error(f"no network has a name with {' or '.join(options.only)}; there are {', '.join(WORKS)}")
    if not options.programs:
        from harness import build
        build.build([WORKS[name].program for name in names])
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            program = Program(name, options, folder)
            if options.check:
                check(name, program)
            else:
                scale(name, program, options)


if __name__ == "__main__":
    main()
