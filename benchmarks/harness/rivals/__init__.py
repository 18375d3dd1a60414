"""The rivals: which file of this folder brings each, and what it needs by pip."""
from dataclasses import dataclass

MODULES = {
    "pytorch": "pytorch",
    "autocast": "pytorch",
    "compiled": "pytorch",
    "jax": "jax_jit",
    "onnxruntime": "onnx_session",
    "mindspore": "mindspore_graph",
}

# Those that are a library, run by run/blas.cpp: the packages that bring it, its file, and the entry point.
LIBRARIES = {
    "mkl": ("torch/lib/libtorch_cpu.so", "sgemm_"),
    "openblas": ("numpy.libs/libscipy_openblas64_*.so", "scipy_sgemm_64_"),
}


@dataclass(frozen=True)
class Cxx:
    """A rival in C++, NAME.cpp of this folder: where in its environment headers and libraries are, and what it
    links."""
    headers: tuple
    libraries: str
    link: tuple


TORCH = "lib/python3*/site-packages/torch/"
PROGRAMS = {
    "libtorch": Cxx(
        (TORCH + "include", TORCH + "include/torch/csrc/api/include"), TORCH + "lib", ("torch", "torch_cpu", "c10")
    ),
    "onednn": Cxx(("include",), "lib", ("dnnl",)),
}

PACKAGES = {
    "pytorch": ("torch", "numpy"),
    "autocast": ("torch", "numpy"),
    "compiled": ("torch", "numpy"),
    "libtorch": ("torch", "numpy"),
    "jax": ("jax", "numpy"),
    "onnxruntime": ("onnxruntime", "onnx", "numpy"),
    "mindspore": ("mindspore", "numpy<2"),
    "mkl": ("torch",),
    "openblas": ("numpy",),
    "onednn": ("onednn-devel-cpu-gomp",),
}

# MindSpore needs an older NumPy than the others, oneDNN's package replaces files of others: hence environments of their
# own.
SEPARATE = ("mindspore", "onednn")
