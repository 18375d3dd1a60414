#!/bin/sh
# Executes the machine code of LeNet's training kernels without a GPU (benchmarks/cuda/sass.py): that of a sample, with
# a block per sample and with a cluster of blocks, and that which adds up over a batch and updates. Fails if memory
# differs from the emulator's in one word, if accesses to shared memory race, or if an altered instruction, or a wait or
# a barrier that is left out, is not found. Then the same for a kernel whose blocks share a multiprocessor, and for the
# kernels of some tests.
#   sass.sh SOURCE_DIR
set -eu
source=$(cd "$1" && pwd)
python=${TENON_PYTHON:-python3}
export PYTHONDONTWRITEBYTECODE=1
PATH=$PATH:/usr/local/cuda/bin
skip() { echo "SKIPPED: $1, no machine code was executed"; exit 77; }
"$python" -c 'import numpy' 2>/dev/null || skip "$python has no numpy (TENON_PYTHON can name another one)"
(cd "$source/benchmarks/cuda" && "$python" -m unittest sass.selftest)
command -v nvcc >/dev/null || skip "nvcc is not installed"
command -v "${CUOBJDUMP:-cuobjdump}" >/dev/null || skip "cuobjdump is not installed (CUOBJDUMP can name it)"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$python" "$source/benchmarks/cuda/sass.py" lenet --batch 1 --blocks-at-once 1 --races --folder "$work"
"$python" "$source/benchmarks/cuda/sass.py" lenet --batch 40 --kernel BatchSteps --races --no-build --folder "$work"
"$python" "$source/benchmarks/cuda/sass.py" lenet --batch 1 --blocks-at-once 132 --control --no-build --folder "$work" \
  >"$work/clusters" || { cat "$work/clusters"; exit 1; }
cat "$work/clusters"
grep -q 'in clusters of [2-9]' "$work/clusters" || { echo "FAILED: no cluster shared the sample"; exit 1; }
"$python" "$source/benchmarks/cuda/sass.py" attention --kernel KeyGradients --resident 2 --races --folder "$work"
"$python" "$source/benchmarks/cuda/sass_tests.py" --folder "$work" \
  elementwise softmax norm pool movement gather reduce optimizer sample_kinds
