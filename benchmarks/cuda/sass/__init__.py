"""Executes machine code of NVIDIA's GPUs: for benchmarks/cuda/sass.py and sass_tests.py."""
import sys

try:
    import numpy
except ModuleNotFoundError:
    sys.exit(print("Python has no numpy: pip install numpy.", file=sys.stderr) or 77)

numpy.seterr(all="ignore")  # a GPU does not warn either
