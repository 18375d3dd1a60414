"""Builds our programs in a tree of their own, so that nobody's build directory is configured anew."""
import os
import shutil
import subprocess

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FOLDER = os.path.join(SOURCE, "build", "benchmarks")
TREE = os.path.join(FOLDER, "release")


def build(programs):
    generator = ["-G", "Ninja"] if shutil.which("ninja") and not os.path.exists(TREE + "/CMakeCache.txt") else []
    configure = [
        "cmake",
        "--preset",
        "release",
        "-B",
        TREE,
        *generator,
        "-DTENON_BUILD_BENCHMARKS=ON",
        "-DTENON_BUILD_TESTS=OFF",
        "-DTENON_BUILD_EXAMPLES=OFF",
    ]
    subprocess.run(configure, cwd=SOURCE, check=True, stdout=subprocess.DEVNULL)
    subprocess.run(
        ["cmake", "--build", TREE, "--target", *(f"benchmark.run.{program}" for program in programs)],
        cwd=SOURCE,
        check=True,
    )


def program(name):
    return os.path.join(TREE, "benchmarks", "run", name)


def compiler():
    """The command that compiles what is no target of CMake, with the flags of our programs."""
    return [
        os.environ.get("CXX", "g++"),
        "-std=gnu++20",
        "-O2",
        "-march=native",
        "-DNDEBUG",
        f"-I{SOURCE}/include",
        f"-I{SOURCE}/benchmarks/run",
    ]


def compiler_version():
    """g++ 12.2.0"""
    command = compiler()[0]
    return (
        f"{command} "
        + subprocess.run(
            [command, "-dumpfullversion", "-dumpversion"], stdout=subprocess.PIPE, text=True, check=True
        ).stdout.split()[0]
    )


def rival_program(name, flags):
    """A rival in C++, built where it is older than its source."""
    source, binary = os.path.join(SOURCE, "benchmarks", "harness", "rivals", name + ".cpp"), os.path.join(
        FOLDER, "rivals", name
    )
    if not os.path.exists(binary) or os.path.getmtime(binary) < os.path.getmtime(source):
        print(f"building {binary}", flush=True)
        os.makedirs(os.path.dirname(binary), exist_ok=True)
        done = subprocess.run([*compiler(), source, "-o", binary, *flags], stderr=subprocess.PIPE, text=True)
        if done.returncode:
            return None, (done.stderr.strip().splitlines() or ["no reason given"])[0]
    return binary, None
