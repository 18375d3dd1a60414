"""The rivals: which file of this folder brings each, and what it needs by pip."""

MODULES = {"pytorch": "pytorch", "compiled": "pytorch", "jax": "jax_jit", "onnxruntime": "onnx_session", "mindspore": "mindspore_graph"}

# Those that are a library, run by run/blas.cpp: the packages that bring it, its file, and the entry point.
LIBRARIES = {"mkl": ("torch/lib/libtorch_cpu.so", "sgemm_"), "openblas": ("numpy.libs/libscipy_openblas64_*.so", "scipy_sgemm_64_")}

PACKAGES = {
    "pytorch": ("torch", "numpy"), "compiled": ("torch", "numpy"), "jax": ("jax", "numpy"), "onnxruntime": ("onnxruntime", "onnx", "numpy"),
    "mindspore": ("mindspore", "numpy<2"), "mkl": ("torch",), "openblas": ("numpy",)}

# MindSpore needs an older NumPy than the others, hence an environment of its own.
SEPARATE = ("mindspore",)
