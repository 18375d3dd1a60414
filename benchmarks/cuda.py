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
# Mixed precision in bfloat16 with Math::tf32, as programs of their own.
AMP_WORKS = {"gpt/amp/4": 1.0, "gpt/amp/64": 1.0, "resnet18/amp/32": 1.0, "resnet18/amp/256": 1.0}
GROUPS = {"lenet": "lenet", "mlp784": "mlp", "lstm32": "lstm", "gpt": "gpt", "resnet18": "resnet"}
RIVALS = ("gpu_eager", "gpu_graph", "gpu_compiled", "gpu_graph_tf32")
MORE_RIVALS = ("gpu_compiled_tf32", "gpu_tuned", "gpu_tuned_tf32")  # which compile for minutes
FLAGS = ["-std=c++20", "-O2", "--expt-relaxed-constexpr", "--extended-lambda", "-fmad=false", "-ftz=true",
         "-Xcompiler=-march=native", "-DNDEBUG", "-DTENON_TARGET=cuda", f"-I{SOURCE}/include"]
BINARIES = os.path.join(FOLDER, "cuda")
SECONDS = 0.4  # that a timing takes


def python_library(name):
    """Folders of headers and of files of a library of NVIDIA's that PyTorch's packages bring."""
    for folder in sys.path:
        found = os.path.join(folder or ".", "nvidia", name)
        if os.path.isdir(os.path.join(found, "lib")):
            return os.path.join(found, "include"), os.path.join(found, "lib")
    return None


CUDNN = python_library("cudnn")
CUBLAS = python_library("cu13") or python_library("cublas")


def nvcc():
    found = shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"
    if not os.path.exists(found):
        sys.exit("nvcc is not installed. It is a part of the CUDA Toolkit, 13 or newer.")
    return found


def build(program):
    """Seconds that it took, and what the compiler said if it failed."""
    start = time.perf_counter()
    more = [f"-I{CUDNN[0]}"] if CUDNN else []
    source = program.removesuffix("_amp")
    if source != program:
        more.append("-DBENCHMARK_AMP")
    done = subprocess.run(
        [nvcc(), "-x", "cu", *FLAGS, *more, "-arch=native", f"{SOURCE}/benchmarks/run/{source}.cpp",
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


def our_side(program, device, math="exact"):
    """A program of ours on a device."""
    binary = os.path.join(BINARIES, program)
    if not os.path.exists(binary):
        raise Missing("it was not built")
    environment = dict(os.environ, BENCHMARK_DEVICE=device, BENCHMARK_MATH=math)
    folders = [os.environ.get("LD_LIBRARY_PATH"), *(library[1] for library in (CUBLAS, CUDNN) if library)]
    environment["LD_LIBRARY_PATH"] = ":".join(folder for folder in folders if folder)
    return Side(f"tenon on {device}", [binary, str(os.cpu_count()), BINARIES],
                os.sched_getaffinity(0), os.path.join(BINARIES, f"{program}.{device}.{math}.log"), environment)


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


def measure_fast(row, program, work, exact=()):
    """Adds our time with tensor cores, whether two runs give equal results, and how far these are from exact ones."""
    try:
        fast = our_side(program, "GPU", "tf32")
        losses = fast.check(work, "graph")
        row["fast_repeats"] = losses == fast.check(work, "graph")
        row["fast_difference"] = max((abs(a - b) / max(abs(b), 1e-3) for a, b in zip(losses, exact)), default=None)
        row["fast"] = microseconds(fast, work, "graph")
        fast.close()
    except (Missing, Failed) as problem:
        row["fast_problem"] = str(problem)


def measure_rivals(row, group, work, rivals):
    for rival in rivals:
        try:
            side = rival_side(group, rival)
            row[rival] = microseconds(side, work, "-")
            side.close()
        except (Missing, Failed) as problem:
            row.setdefault("rivals", {})[rival] = str(problem)


def measure_amp(work, rivals, program_ok):
    """A row of mixed precision: our time, and the rivals' times."""
    row = {"work": work, "bar": AMP_WORKS[work]}
    program = GROUPS[work.split("/")[0]]
    if program_ok:
        measure_fast(row, program + "_amp", work)
    else:
        row["fast_problem"] = "it does not compile"
    measure_rivals(row, program, work, [rival for rival in rivals if "tf32" in rival])
    return row


def measure(work, rivals, program_ok):
    """A row: our times, whether bits are equal, and the rivals' times."""
    row = {"work": work, "bar": WORKS[work]}
    program = GROUPS[work.split("/")[0]]
    expected = ()
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
    if program_ok:
        measure_fast(row, program, work, expected)
    measure_rivals(row, program, work, rivals)
    return row


def ratio(row, rivals, ours):
    """How many times as fast as the fastest of the rivals ours is."""
    best = min((row[rival] for rival in rivals if rival in row), default=None)
    return f"{best / row[ours]:.2f}" if best and ours in row else "-"


def line(row, rivals):
    exact, fast = ([rival for rival in rivals if ("tf32" in rival) == tensor_cores] for tensor_cores in (False, True))
    equal = [f"{mode}: {'equal' if same else 'DIFFERS'}" for mode, same in row.get("equal", {}).items()]
    problems = [row[key] for key in ("problem", "fast_problem") if key in row]
    if not row.get("fast_repeats", True):
        problems.append("two runs with tensor cores DIFFER")
    cells = [row["work"], *(f"{row[key]:.1f}" if key in row else "-" for key in ("graph", "pynative", "fast")),
             *(f"{row[rival]:.0f}" if rival in row else "-" for rival in rivals),
             ratio(row, exact, "graph"), str(row["bar"]), ratio(row, fast, "fast"), ", ".join(equal + problems)]
    return "| " + " | ".join(cells) + " |"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", metavar="NAME", action="append", help="works whose name contains NAME")
    parser.add_argument("--rivals", default=",".join(RIVALS), help=f"of {','.join(RIVALS + MORE_RIVALS)}, or none")
    parser.add_argument("--no-build", action="store_true")
    parser.add_argument("--out", default=FOLDER, help="where cuda.json and cuda.md go")
    options = parser.parse_args()
    rivals = [rival for rival in options.rivals.split(",") if rival in RIVALS + MORE_RIVALS]
    works = [work for work in WORKS if not options.only or any(name in work for name in options.only)]
    amp_works = [work for work in AMP_WORKS if not options.only or any(name in work for name in options.only)]
    programs = sorted({GROUPS[work.split("/")[0]] for work in works} |
                      {GROUPS[work.split("/")[0]] + "_amp" for work in amp_works})
    failed = set() if options.no_build else build_all(programs)
    rows, head = [], ["work", "graph us", "PyNative us", "graph with Math::tf32 us", *rivals, "best float32 / graph",
                      "bar", "best TF32 / ours", "bits of the CPU"]
    text = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    print("\n".join(text), flush=True)
    for work in works + amp_works:
        program = GROUPS[work.split("/")[0]]
        if work in AMP_WORKS:
            rows.append(measure_amp(work, rivals, program + "_amp" not in failed))
        else:
            rows.append(measure(work, rivals, program not in failed))
        text.append(line(rows[-1], rivals))
        print(text[-1], flush=True)
    os.makedirs(options.out, exist_ok=True)
    with open(os.path.join(options.out, "cuda.json"), "w") as file:
        json.dump(rows, file, indent=1)
    with open(os.path.join(options.out, "cuda.md"), "w") as file:
        file.write("\n".join(text) + "\n")
    return 0 if all(all(row.get("equal", {"": False}).values()) for row in rows if row["work"] in WORKS) else 1


if __name__ == "__main__":
    sys.exit(main())
