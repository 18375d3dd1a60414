#!/bin/sh
# Every kernel that the host's code starts is one that nvcc has compiled for the device and registered: the two
# compilers must give it the same name. Otherwise a launch fails with cudaErrorInvalidResourceHandle.
#   registered.sh SOURCE_DIR
set -eu
nvcc=$(command -v nvcc || ls /usr/local/cuda/bin/nvcc 2>/dev/null || true)
[ -n "$nvcc" ] || { echo "SKIPPED: nvcc is not installed, nothing was compiled for the device"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$nvcc" -x cu -c -std=c++20 -O0 --expt-relaxed-constexpr --extended-lambda -fmad=false -ftz=true \
  -Xcompiler=-march=native -DTENON_TARGET=cuda "-I$1/include" "$1/tests/backend/cuda/registered.cu" -o "$work/o"
# In the host's code a kernel's function has internal linkage, L in its name; registered names are strings without it.
nm "$work/o" | awk '$3 ~ /^_ZN.*L[0-9]+run_(blocks|parts)/ { print $3 }' | sed -E 's/L([0-9]+run_)/\1/' |
  sort -u >"$work/host"
strings -n 10 "$work/o" | grep -E '^_ZN.*[a-z][0-9]+run_(blocks|parts)' | sort -u >"$work/registered"
[ -s "$work/host" ] || { echo "FAILED: the object has no kernels"; exit 1; }
comm -23 "$work/host" "$work/registered" >"$work/missing"
[ ! -s "$work/missing" ] || { echo "FAILED: not registered:"; c++filt <"$work/missing" | cut -c1-600; exit 1; }
echo "All $(grep -c . "$work/host") kernels are registered"
