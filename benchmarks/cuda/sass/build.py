"""Compiles programs by nvcc, for their machine code, and by g++ with the tests' emulator of a GPU."""
import os
import shutil
import subprocess
import sys

from . import parse
from .parse import Failed

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
FOLDER = os.path.join(SOURCE, "build", "benchmarks", "sass")
NVCC_FLAGS = ["-x", "cu", "-cubin", "-std=c++20", "-O2", "--expt-relaxed-constexpr", "--extended-lambda", "-fmad=false",
              "-ftz=true", "-DNDEBUG", "-Xcompiler=-march=native", "-DTENON_TARGET=cuda", "-arch=sm_90",
              f"-I{SOURCE}/include"]
GXX_FLAGS = ["-std=c++20", "-O1", "-march=native", "-DTENON_TARGET=cuda", "-Wno-unknown-pragmas",
             f"-I{SOURCE}/tests/support/cuda", f"-I{SOURCE}/include"]
MISSING = 77  # what the process ends with if a program that it needs is not there
HOW_TO_GET = {
    "nvcc": "nvcc is not installed: it is a part of the CUDA Toolkit, 13 or newer.",
    "cuobjdump": "cuobjdump is not installed: it is a part of the CUDA Toolkit (packages cuda-cuobjdump-13-0 and "
                 "cuda-nvdisasm-13-0), and of the Python package triton; name it with --cuobjdump or CUOBJDUMP.",
    "g++": "g++ is not installed.",
}


def program(name, given=None):
    found = shutil.which(given or name) or shutil.which(name, path="/usr/local/cuda/bin")
    if not found:
        raise Failed(HOW_TO_GET[name], MISSING)
    return found


def run(command, **options):
    done = subprocess.run(command, capture_output=True, text=True, **options)
    if done.returncode:
        raise Failed(f"{' '.join(command)}\n{(done.stderr + done.stdout)[-2000:]}")
    return done.stdout


class Code:
    """The machine code of all kernels of a program, and their tables."""

    def __init__(self, text, tables):
        self.functions, self.tables = parse.functions(text), parse.jump_tables(tables)

    def names(self, launch, part=""):
        """Of the functions that can be the kernel of a launch."""
        return [name for name in parse.functions_of(launch.body, self.functions) if part in name]

    def kernel(self, name):
        return parse.Kernel(parse.instructions(self.functions[name]), self.tables.get(name, []))


def build(program_text, folder, cuobjdump=None, nvcc_flags=(), gxx_flags=(), again=True):
    """Compiles twice: (the machine code, the path of the program on the emulator)."""
    cubin, text, tables, emulated = (os.path.join(folder, name)
                                     for name in ("kernels.cubin", "kernels.sass", "kernels.elf", "emulated"))
    if again:
        nvcc, gxx, cuobjdump = program("nvcc"), program("g++"), program("cuobjdump", cuobjdump)
        os.makedirs(folder, exist_ok=True)
        run([nvcc, *NVCC_FLAGS, *nvcc_flags, program_text, "-o", cubin])
        for path, what in ((text, "-sass"), (tables, "-elf")):
            with open(path, "w") as file:
                file.write(run([cuobjdump, what, cubin]))
        run([gxx, *GXX_FLAGS, *gxx_flags, program_text, "-o", emulated, "-lpthread", "-lz", "-ldl"])
    with open(text) as text_file, open(tables) as tables_file:
        return Code(text_file.read(), tables_file.read()), emulated


def end_with(main):
    """Runs main() and ends the process with what it returns, or with what went wrong."""
    try:
        sys.exit(main())
    except Failed as error:
        sys.exit(print(error, file=sys.stderr) or error.status)
