"""Runs the machine code of a kernel of Tenon without a GPU, for benchmarks/cuda/sass.py."""
