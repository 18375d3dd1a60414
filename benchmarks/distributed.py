#!/usr/bin/env python3
"""dist::DataParallel against PyTorch's DistributedDataParallel: ranks of one thread each, on this machine.

    python3 benchmarks/distributed.py [--only NAME] [--ranks N] [--rounds N] [--mpirun PROGRAM] [--python PYTHON]
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True
from harness import build

# Network: its program, its file in groups/, samples of a step on all ranks together, steps of a run, how many in a row
# are one measurement, and how far losses may differ by (of how many steps): as in groups/.
WORKS = {
    "lenet": ("ranks_lenet", "lenet", 64, 400, 20, 1e-4, 10),
    "gpt": ("ranks_gpt", "gpt", 8, 24, 2, 1e-4, 10),
    "resnet18": ("ranks_resnet", "resnet", 32, 14, 1, 1e-3, 2),
}
BAR = 1.3
# A link between ranks: its latency in microseconds, MB per second. Where messages take less time on it than the
# backward pass does, this share of them must be hidden; LeNet-5 computes both passes of 16 samples at a time, and has
# the sums of its gradients at the end.
LINK, HIDDEN = ("50", "500"), 0.9
LINKED = ("gpt", "resnet18")
FIRST = 10  # steps that no time counts of: the sides agree on their losses


def run(command, environment=None):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment,
                          stdin=subprocess.DEVNULL)
    if done.returncode:
        sys.exit(f"{' '.join(command)} failed:\n{done.stderr.strip() or done.stdout.strip()}")
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    return json.loads(lines[-1]) if lines else None


class Sides:
    """The programs of one network; each call runs one, and returns what it printed."""

    def __init__(self, name, options, folder):
        self.name, self.options, self.folder = name, options, folder
        program, self.group, self.batch, self.steps, self.block, self.tolerance, self.compared = WORKS[name]
        self.program = os.path.join(options.programs, program) if options.programs else build.program(program)
        run([self.program, folder, str(self.batch), "0", "0", "1"])  # writes the weights

    def ours(self, shards, ranks, batch=None, more=()):
        start = [self.options.mpirun, "-n", str(ranks)] if ranks > 1 else []
        asked = map(str, (self.folder, batch or self.batch, shards, self.steps, self.block, *more))
        allowed = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                       OMPI_MCA_rmaps_base_oversubscribe="1")
        return run([*start, self.program, *asked], allowed)

    def ddp(self, ranks):
        """Losses, and the least and the median time of a step."""
        meeting = os.path.join(self.folder, "meeting")
        if os.path.exists(meeting):
            os.remove(meeting)
        environment = dict(os.environ, PYTHONPATH=os.path.dirname(os.path.abspath(__file__)), OMP_NUM_THREADS="1")
        words = [self.options.python, "-m", "harness.rivals.pytorch_ddp", self.group, self.name, str(self.batch),
                 self.folder, str(self.steps)]
        others = [subprocess.Popen([*words, str(rank), str(ranks), meeting], env=environment,
                                   stdout=subprocess.DEVNULL) for rank in range(1, ranks)]
        result = run([*words, "0", str(ranks), meeting], environment)
        for other in others:
            other.wait()
        ends, block = result.pop("ends"), self.block
        times = [(ends[i] - ends[i - block]) / block for i in range(FIRST + block, len(ends))]
        return dict(result, least=min(times), median=statistics.median(times))


def check(sides, ranks):
    """Losses of one rank and of several are equal in bits, and those of PyTorch close."""
    alone = {shards: sides.ours(shards, 1)["losses"] for shards in (ranks, 8)}
    several = {shards: sides.ours(shards, ranks)["losses"] for shards in alone}
    if alone != several:
        sys.exit(f"{sides.name}: the losses of {ranks} ranks differ from those of one: {alone}, {several}")
    theirs = sides.ddp(ranks)["losses"]
    bound = sides.tolerance * (1 + max(theirs))
    for our, their in list(zip(several[ranks], theirs))[:sides.compared]:
        if abs(our - their) > bound:
            sys.exit(f"{sides.name}: the losses are not PyTorch's: {several[ranks]}, {theirs}")


def measure(sides, options):
    """Prints the least time of a step of each side, in milliseconds; the sides take turns."""
    ranks, best = options.ranks, {}
    runs = {
        "one shard per rank": lambda: sides.ours(0, ranks),
        ".shards = 8": lambda: sides.ours(8, ranks),
        "parts that share no gradients": lambda: sides.ours(-1, ranks, sides.batch // ranks),
        "PyTorch DDP": lambda: sides.ddp(ranks),
    }
    for _ in range(options.rounds):
        for side, call in runs.items():
            result = call()
            if side not in best or result["least"] < best[side]["least"]:
                best[side] = result
    for side, result in best.items():
        parts = "".join(
            f"  {part} {result[part] * 1e3:.3f}" for part in ("agreement", "gradients") if result.get(part)
        )
        print(f"{sides.name:9} {side:30} {result['least'] * 1e3:9.3f} ms{parts}", flush=True)
    for side in ("one shard per rank", ".shards = 8"):
        ratio = best["PyTorch DDP"]["least"] / best[side]["least"]
        bar = f" (bar {BAR}: {'met' if ratio >= BAR else 'NOT met'})" if side == "one shard per rank" else ""
        print(f"{sides.name:9} {side}: {ratio:.2f} x PyTorch DDP{bar}", flush=True)


def measure_link(sides, options):
    """Prints which share of the time that a slower link takes for gradients adds nothing to a step."""
    with_link = without = None
    for _ in range(options.rounds):
        results = [sides.ours(0, options.ranks), sides.ours(0, options.ranks, more=LINK)]
        without, with_link = (
            new if not old or new["least"] < old["least"] else old
            for old, new in zip((without, with_link), results)
        )
    exposed = with_link["least"] - without["least"]
    hidden = 1 - exposed / with_link["link"]
    print(f"{sides.name:9} a link of {LINK[0]} us and {LINK[1]} MB/s takes {with_link['link'] * 1e3:.1f} ms for "
          f"gradients; a step {with_link['least'] * 1e3:.1f} ms instead of {without['least'] * 1e3:.1f} ms: "
          f"{hidden:.2f} are hidden (bar {HIDDEN}: {'met' if hidden >= HIDDEN else 'NOT met'})", flush=True)


def main():
    venv = os.path.join(build.FOLDER, "venv", "bin", "python")
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", metavar="NAME", action="append", help="networks whose name contains NAME")
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--mpirun", default="mpirun")
    parser.add_argument("--python", default=venv if os.path.exists(venv) else sys.executable,
                        help="one with PyTorch, such as that of compare.py (the default, if it is there)")
    parser.add_argument("--programs", metavar="DIR", help="programs that are built already")
    options = parser.parse_args()
    names = [name for name in WORKS if not options.only or any(part in name for part in options.only)]
    if not options.programs:
        build.build([WORKS[name][0] for name in names])
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            sides = Sides(name, options, folder)
            check(sides, options.ranks)
            measure(sides, options)
            if name in LINKED:
                measure_link(sides, options)


if __name__ == "__main__":
    main()
