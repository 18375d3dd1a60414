#!/bin/sh
# Compiles the device kernels and the whole MNIST example with nvcc, where it is there, and runs what runs without a
# GPU. What nvcc's front end does not take, it finds in the kernels of the CPU, too: a long run gives it all operators,
# and the other programs of this folder.
#   compile.sh SOURCE_DIR [long]
set -eu
nvcc=$(command -v nvcc || ls /usr/local/cuda/bin/nvcc 2>/dev/null || true)
[ -n "$nvcc" ] || { echo "SKIPPED: nvcc is not installed, nothing was compiled for the device"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
flags="-std=c++20 --expt-relaxed-constexpr --extended-lambda -fmad=false -ftz=true -I$1/include"
fused="-Xcompiler -march=native"
# nvcc without a word: its warnings about headers would be those that a user sees.
quietly() {
  "$nvcc" "$@" >"$work/said" 2>&1 && [ ! -s "$work/said" ] && return
  echo "FAILED: nvcc $*:"
  tail -n 20 "$work/said"
  exit 1
}
# the host's part of it is a test on the emulator
quietly -x cu -cubin $flags $fused "$1/tests/backend/cuda/elementwise.cpp" -o "$work/elementwise"
programs=$1/tests/backend/cuda/lines.cpp
[ "${2:-}" != long ] || programs="$1/tests/backend/cuda/*.cpp $1/tests/ops/*.cpp $1/tests/ops/control/*.cpp"
for program in $programs; do
  "$nvcc" -x cu -cuda $flags $fused -O1 -arch=sm_90 -DTENON_TARGET=cuda -I"$1/tests" "$program" -o "$work/front.ii" \
    >"$work/said" 2>&1 || { echo "FAILED: nvcc does not compile $program:"; tail -n 20 "$work/said"; exit 1; }
done
if [ "${2:-}" = long ]; then
  for program in types data_parallel; do
    quietly $flags $fused -O0 -DTENON_TARGET=cuda "$1/tests/backend/cuda/$program.cu" -o "$work/$program"
    "$work/$program"
  done
  exit 0
fi
status=0
quietly $flags "$1/tests/backend/cuda/functions.cu" -o "$work/functions"
"$work/functions" || status=$?
[ $status = 0 ] || [ $status = 77 ] || exit 1
quietly $flags -O0 "$1/tests/backend/cuda/print.cu" -o "$work/print"
"$work/print"
# for a CPU without a fused multiply-add: one sentence
printf '#include <tenon/tenon.hpp>\nint main() {}\n' >"$work/any.cu"
"$nvcc" $flags -DTENON_TARGET=cuda -c "$work/any.cu" -o "$work/any.o" >"$work/refused" 2>&1 && exit 1
grep -q "needs a CPU with a fused multiply-add" "$work/refused"
cp "$1/examples/06_mnist.cpp" "$work/06_mnist.cu"
quietly $flags $fused -O1 -DTENON_TARGET=cuda "$work/06_mnist.cu" -o "$work/06_mnist"
"$work/06_mnist" --help >/dev/null
if nvidia-smi -L >/dev/null 2>&1; then
  for device in CPU GPU; do "$work/06_mnist" --epochs 1 --device $device >"$work/$device"; done
  [ "$(grep -o 'weights=.*' "$work/CPU")" = "$(grep -o 'weights=.*' "$work/GPU")" ]
  echo "06_mnist ends with the same weights on the GPU"
else
  # without a GPU: one sentence
  "$work/06_mnist" --device GPU >"$work/refused" 2>&1 && exit 1
  grep -q "device_target 'GPU' needs" "$work/refused"
  echo "06_mnist compiles for the GPU"
fi
