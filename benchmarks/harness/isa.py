"""The instruction sets that compare.py can hold every side to, and how each rival is told.

Ours are compiled for it. A rival asks the processor when it starts; what its libraries read instead is listed here.
"""

import contextlib
import ctypes
import os
import re
import tempfile

# Name of --isa: -march of our programs, of rivals in C++, and of what a rival compiles itself.
MARCH = {"native": "native", "avx2": "x86-64-v3"}

# PyTorch's own loops and what torch.compile makes of them; oneDNN in PyTorch, in MindSpore (the older name), and by
# itself; MKL on Intel's processors (on AMD's it takes its AVX2 kernels in any case; MKL_CBWR would bind it too, but to
# other algorithms); OpenBLAS in NumPy and by itself.
AVX2 = {
    "ATEN_CPU_CAPABILITY": "avx2",
    "TORCHINDUCTOR_CPP_MARCH": MARCH["avx2"],
    "ONEDNN_MAX_CPU_ISA": "AVX2",
    "DNNL_MAX_CPU_ISA": "AVX2",
    "MKL_ENABLE_INSTRUCTIONS": "AVX2",
    "OPENBLAS_CORETYPE": "Haswell",
}
XLA_AVX2 = "--xla_cpu_max_isa=AVX2"

# Rivals without a switch: what decides there.
UNBOUND = {
    "jax": "what XLA compiles is bound, its YNNPACK (products, convolutions) chooses by the processor alone",
    "onnxruntime": "MLAS chooses by the processor alone",
    "mindspore": "its own kernels choose by the processor alone; its oneDNN is bound",
}


def variables(isa):
    """What binds a rival to the instruction set, for its environment; XLA_FLAGS are put together elsewhere."""
    if isa == "avx2":
        return AVX2
    # On new processors OpenBLAS may choose a core without AVX-512.
    return {"OPENBLAS_CORETYPE": "SkylakeX"} if has_avx512() else {}


def unbound(rival, isa):
    """Why a rival may use more than the instruction set that was asked for, or None."""
    return UNBOUND.get(rival) if isa == "avx2" and has_avx512() else None


def has_avx512():
    with open("/proc/cpuinfo") as file:
        return "avx512f" in file.read()


def suffix(isa):
    """Of folders and files that are another for each instruction set."""
    return "" if isa == "native" else f"-{isa}"


@contextlib.contextmanager
def printed():
    """Collects the lines that libraries in C and C++ print on stdout meanwhile; they are there afterwards."""
    lines, before = [], os.dup(1)
    with tempfile.TemporaryFile("w+") as file:
        os.dup2(file.fileno(), 1)
        try:
            yield lines
        finally:
            ctypes.CDLL(None).fflush(None)
            os.dup2(before, 1)
            os.close(before)
            file.seek(0)
            lines += file.read().splitlines()


def libraries_of(lines):
    """From what MKL and oneDNN print with MKL_VERBOSE and ONEDNN_VERBOSE: ["oneDNN Intel AVX2", ...]."""
    patterns = {"MKL": r"MKL_VERBOSE.*64 architecture (.*?),", "oneDNN": r"onednn_verbose.*isa:(.*)"}
    found = {name: re.search(pattern, "\n".join(lines)) for name, pattern in patterns.items()}
    return [f"{name} {match[1]}" for name, match in found.items() if match]


def of_environment(*names):
    """Those of these variables that are set, for a rival that reports nothing better."""
    return ", ".join(f"{name}={os.environ[name]}" for name in names if name in os.environ) or "not bound"
