"""Tenon on a GPU: equal bits to the CPU, and its times beside PyTorch's on the same card. benchmarks/cuda.sh calls it.

    python3 benchmarks/cuda.py [--only NAME] [--rivals NAMES] [--no-build] [--out DIR]
"""
import argparse
import concurrent.futures
import json
import os
import shutil
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness.build import FOLDER, SOURCE  # noqa: E402
from harness.side import Failed, Missing, Side  # noqa: E402

# Of each work: how many times as fast as the fastest float32 rival it must be (0: no bar).
WORKS = {
    "lenet/train/1": 4,
    "lenet/train/32": 5,
    "lenet/train/256": 2.5,
    "lenet/forward/1": 3,
    "mlp784/train/64": 2.5,
    "lstm32/train/32": 1.5,
    "gpt/train/4": 1.2,
    "gpt/train/64": 1.0,
    "resnet18/train/32": 1.4,
    "resnet18/train/256": 1.2,
    "resnet18/forward/1": 2,
}
GROUPS = {"lenet": "lenet", "mlp784": "mlp", "lstm32": "lstm", "gpt": "gpt", "resnet18": "resnet"}
RIVALS = ("gpu_eager", "gpu_graph", "gpu_compiled", "gpu_graph_tf32")
FLAGS = ["-std=c++20", "-O2", "--expt-relaxed-constexpr", "--extended-lambda", "-fmad=false", "-ftz=true",
         "-Xcompiler=-march=native", "-DNDEBUG", "-DTENON_TARGET=cuda", f"-I{SOURCE}/include"]
BINARIES = os.path.join(FOLDER, "cuda")
SECONDS = 0.4  # that a timing takes


def nvcc():
    found = shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"
    if not os.path.exists(found):
        sys.exit("nvcc is not installed. It is a part of the CUDA Toolkit, 13 or newer.")
    return found


def build(program):
    """Seconds that it took, and what the compiler said if it failed."""
    start = time.perf_counter()
    done = subprocess.run(
        [nvcc(), "-x", "cu", *FLAGS, "-arch=native", f"{SOURCE}/benchmarks/run/{program}.cpp",
         "-o", os.path.join(BINARIES, program)],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )
    return program, time.perf_counter() - start, done.stdout if done.returncode else None


def build_all(programs):
    os.makedirs(BINARIES, exist_ok=True)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        failed = set()
        for program, seconds, error in pool.map(build, programs):
            print(f"nvcc {program}: {seconds:.1f} s", flush=True)
            if error:
                lines = [line for line in error.splitlines() if "error" in line]
                print("\n".join((lines or error.splitlines())[:6]), flush=True)
                failed.add(program)
    return failed


def our_side(program, device):
    """A program of ours on a device."""
    binary = os.path.join(BINARIES, program)
    if not os.path.exists(binary):
        raise Missing("it was not built")
    environment = dict(os.environ, BENCHMARK_DEVICE=device)
    return Side(f"tenon on {device}", [binary, str(os.cpu_count()), BINARIES],
                os.sched_getaffinity(0), os.path.join(BINARIES, f"{program}.{device}.log"), environment)


def rival_side(group, rival):
    environment = dict(os.environ, PYTHONPATH=os.path.join(SOURCE, "benchmarks"))
    command = [sys.executable, "-m", "harness.rival", group, rival, "1", BINARIES]
    return Side(rival, command, os.sched_getaffinity(0), os.path.join(BINARIES, f"{group}.{rival}.log"), environment)


def microseconds(side, work, variant):
    """The median of turns that take SECONDS together."""
    side.time(work, variant, 1, 20)
    once, _ = side.time(work, variant, 1, 20)
    calls = max(10, min(2000, int(SECONDS / 5 * 1e6 / once)))
    return side.time(work, variant, 5, calls)[0]


def measure(work, rivals, program_ok):
    """A row: our times, whether bits are equal, and the rivals' times."""
    row = {"work": work, "bar": WORKS[work]}
    program = GROUPS[work.split("/")[0]]
    try:
        if not program_ok:
            raise Missing("it does not compile")
        gpu, cpu = our_side(program, "GPU"), our_side(program, "CPU")
        expected = cpu.check(work, "graph")
        row["equal"] = {mode: gpu.check(work, mode) == expected for mode in ("graph", "pynative")}
        row["graph"] = microseconds(gpu, work, "graph")
        row["pynative"] = microseconds(gpu, work, "pynative")
        cpu.close()
        gpu.close()
    except (Missing, Failed) as problem:
        row["problem"] = str(problem)
    for rival in rivals:
        try:
            side = rival_side(program, rival)
            row[rival] = microseconds(side, work, "-")
            side.close()
        except (Missing, Failed) as problem:
            row.setdefault("rivals", {})[rival] = str(problem)
    return row


def line(row, rivals):
    best = min((row[rival] for rival in rivals if rival in row and "tf32" not in rival), default=None)
    ratio = f"{best / row['graph']:.2f}" if best and "graph" in row else "-"
    equal = ", ".join(f"{mode}: {'equal' if same else 'DIFFERS'}" for mode, same in row.get("equal", {}).items())
    cells = [row["work"], f"{row['graph']:.1f}" if "graph" in row else "-",
             f"{row['pynative']:.0f}" if "pynative" in row else "-",
             *(f"{row[rival]:.0f}" if rival in row else "-" for rival in rivals),
             ratio, str(row["bar"]), row.get("problem", equal)]
    return "| " + " | ".join(cells) + " |"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", metavar="NAME", action="append", help="works whose name contains NAME")
    parser.add_argument("--rivals", default=",".join(RIVALS), help=f"of {','.join(RIVALS)}, or none")
    parser.add_argument("--no-build", action="store_true")
    parser.add_argument("--out", default=FOLDER, help="where cuda.json and cuda.md go")
    options = parser.parse_args()
    rivals = [rival for rival in options.rivals.split(",") if rival in RIVALS]
    works = [work for work in WORKS if not options.only or any(name in work for name in options.only)]
    programs = sorted({GROUPS[work.split("/")[0]] for work in works})
    failed = set() if options.no_build else build_all(programs)
    rows, head = [], ["work", "graph us", "PyNative us", *rivals, "best float32 / graph", "bar", "bits of the CPU"]
    text = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    print("\n".join(text), flush=True)
    for work in works:
        rows.append(measure(work, rivals, GROUPS[work.split("/")[0]] not in failed))
        text.append(line(rows[-1], rivals))
        print(text[-1], flush=True)
    os.makedirs(options.out, exist_ok=True)
    with open(os.path.join(options.out, "cuda.json"), "w") as file:
        json.dump(rows, file, indent=1)
    with open(os.path.join(options.out, "cuda.md"), "w") as file:
        file.write("\n".join(text) + "\n")
    return 0 if all(all(row.get("equal", {"": False}).values()) for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
