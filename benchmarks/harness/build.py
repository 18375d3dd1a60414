"""Builds our programs in a tree of their own, so that nobody's build directory is configured anew; one tree for each
instruction set."""
import os
import shutil
import subprocess

from harness.isa import MARCH, suffix

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FOLDER = os.path.join(SOURCE, "build", "benchmarks")
isa = "native"  # of --isa; everything below is for it


def tree(name="release"):
    return os.path.join(FOLDER, name + suffix(isa))


def build(programs):
    tree_of_ours = tree()
    generator = (
        ["-G", "Ninja"] if shutil.which("ninja") and not os.path.exists(tree_of_ours + "/CMakeCache.txt") else []
    )
    configure = [
        "cmake",
        "--preset",
        "release",
        "-B",
        tree_of_ours,
        *generator,
        f"-DTENON_MARCH={MARCH[isa]}",
        "-DTENON_BUILD_BENCHMARKS=ON",
        "-DTENON_BUILD_TESTS=OFF",
        "-DTENON_BUILD_EXAMPLES=OFF",
    ]
    subprocess.run(configure, cwd=SOURCE, check=True, stdout=subprocess.DEVNULL)
    subprocess.run(
        ["cmake", "--build", tree_of_ours, "--target", *(f"benchmark.run.{program}" for program in programs)],
        cwd=SOURCE,
        check=True,
    )


def program(name):
    return os.path.join(tree(), "benchmarks", "run", name)


def compiler():
    """The command that compiles what is no target of CMake, with the flags of our programs."""
    return [
        os.environ.get("CXX", "g++"),
        "-std=gnu++20",
        "-O2",
        f"-march={MARCH[isa]}",
        "-DNDEBUG",
        f"-I{SOURCE}/include",
        f"-I{SOURCE}/benchmarks/run",
    ]


def instruction_set():
    """What our programs were compiled for, as they say: AVX-512, AVX2, ..."""
    asked = subprocess.run([program("peak")], input="isa - -\n", stdout=subprocess.PIPE, text=True, check=True)
    return asked.stdout.splitlines()[1]


def compiler_version():
    """g++ 12.2.0"""
    command = compiler()[0]
    return (
        f"{command} "
        + subprocess.run(
            [command, "-dumpfullversion", "-dumpversion"], stdout=subprocess.PIPE, text=True, check=True
        ).stdout.split()[0]
    )


def rival_program(name, source_name, flags):
    """A rival in C++, built where it is older than its source."""
    source = os.path.join(SOURCE, "benchmarks", "harness", "rivals", source_name)
    binary = os.path.join(tree("rivals"), name)
    if not os.path.exists(binary) or os.path.getmtime(binary) < os.path.getmtime(source):
        print(f"building {binary}", flush=True)
        os.makedirs(os.path.dirname(binary), exist_ok=True)
        done = subprocess.run([*compiler(), source, "-o", binary, *flags], stderr=subprocess.PIPE, text=True)
        if done.returncode:
            return None, (done.stderr.strip().splitlines() or ["no reason given"])[0]
    return binary, None
