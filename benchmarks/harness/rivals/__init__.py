"""The rivals: which file of this folder brings each, and what it needs by pip."""
from dataclasses import dataclass

MODULES = {
    "pytorch": "pytorch",
    "autocast": "pytorch",
    "compiled": "pytorch",
    "jax": "jax_jit",
    "onnxruntime": "onnx_session",
    "mindspore": "mindspore_graph",
    "gpu_eager": "pytorch_cuda",
    "gpu_graph": "pytorch_cuda",
    "gpu_compiled": "pytorch_cuda",
    "gpu_graph_tf32": "pytorch_cuda",
    "gpu_compiled_tf32": "pytorch_cuda",
    "gpu_tuned": "pytorch_cuda",
    "gpu_tuned_tf32": "pytorch_cuda",
}

# Those that are a library, run by run/blas.cpp: the packages that bring it, its file, and the entry point.
LIBRARIES = {
    "mkl": ("torch/lib/libtorch_cpu.so", "sgemm_"),
    "openblas": ("numpy.libs/libscipy_openblas64_*.so", "scipy_sgemm_64_"),
}


@dataclass(frozen=True)
class Cxx:
    """A rival in C++: its file in this folder, where in its environment headers and libraries are, what it links, and
    variables that name a file of its environment."""
    source: str
    headers: tuple
    libraries: str
    link: tuple
    variables: tuple = ()


TORCH = "lib/python3*/site-packages/torch/"
PROGRAMS = {
    "libtorch": Cxx(
        "libtorch.cpp",
        (TORCH + "include", TORCH + "include/torch/csrc/api/include"),
        TORCH + "lib",
        ("torch", "torch_cpu", "c10"),
    ),
    "onednn": Cxx("onednn.cpp", ("include",), "lib", ("dnnl",)),
    # Its processor is a device of OpenCL, whose driver the package brings, but does not find.
    "onednn_sycl": Cxx(
        "onednn.cpp", ("include",), "lib", ("dnnl",), (("OCL_ICD_FILENAMES", "lib/libintelocl.so"),)
    ),
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
    "onednn": ("onednn-devel-cpu-gomp",),  # the last of these packages, of 2023
    "onednn_sycl": ("onednn-devel",),  # of this year, but with SYCL's threads alone: a call costs tens of microseconds
}

# MindSpore needs an older NumPy than the others, oneDNN's packages replace files of others: hence environments of their
# own.
SEPARATE = ("mindspore", "onednn", "onednn_sycl")
