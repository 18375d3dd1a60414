#!/bin/sh
# On a machine with an NVIDIA GPU: builds the benchmarks, compares the bits of training with the CPU's, and times them
# beside PyTorch, if python3 has it. Options are those of benchmarks/cuda.py.
exec python3 "$(dirname "$0")/cuda.py" "$@"
