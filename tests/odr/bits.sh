#!/bin/sh
# The same bits whatever the flags: builds a small training under many sets of them, and compares hashes of its weights.
#   bits.sh SOURCE_DIR g++|clang++-19|aarch64-linux-gnu-g++|nvcc
# There are two results, of instruction sets with a fused multiply-add (x86-64-v3 and on, ARM64) and without. Levels of
# optimization, compilers, and instruction sets of either kind agree; all are compared with g++ -O2.
set -u
source=$1 compiler=$2
[ "$(uname -m)" = x86_64 ] || { echo "SKIPPED: the sets of flags are those of x86-64"; exit 77; }
[ "$compiler" != nvcc ] || compiler=$(command -v nvcc || ls /usr/local/cuda/bin/nvcc 2>/dev/null || echo nvcc)
command -v "$compiler" >/dev/null || { echo "SKIPPED: $compiler is not installed"; exit 77; }
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

# result COMPILER FLAGS: what the program prints, or why there is none.
result() {
  # shellcheck disable=SC2068  # several words
  if ! $@ -std=c++20 -I"$source/include" "$source/tests/odr/bits/program.cpp" -o "$work/program" -lpthread \
    >"$work/text" 2>&1
  then
    echo "it does not compile: $(grep -m 1 error "$work/text")"
    return
  fi
  case $1 in
    aarch64-*) qemu-aarch64 -L /usr/aarch64-linux-gnu "$work/program" ;;
    *) "$work/program" ;;
  esac 2>&1 | tail -n 1
}
faults=0
check() {
  kind=$1
  shift
  case $kind in fused) expected=$fused ;; *) expected=$separate ;; esac
  found=$(result "$@")
  if [ "$found" = "$expected" ]; then echo "$*: ok"; else echo "FAILED: $*: $found instead of $expected"; faults=1; fi
}
runs() { grep -qw "$1" /proc/cpuinfo; }

runs fma || { echo "SKIPPED: this processor has no fused multiply-add"; exit 77; }
fused=$(result g++ -O2 -march=x86-64-v3)
echo "g++ -O2 -march=x86-64-v3: $fused"
echo "$fused" | grep -qx '[0-9a-f]\{16\} [0-9a-f]\{16\}' || { echo "FAILED: that is no pair of hashes"; exit 1; }

if [ "$compiler" = aarch64-linux-gnu-g++ ]; then
  command -v qemu-aarch64 >/dev/null || { echo "SKIPPED: qemu-aarch64 is not installed"; exit 77; }
  check fused "$compiler" -O2
  check fused "$compiler" -O3 -march=armv8.2-a
  exit $faults
fi

separate=$(result g++ -O2 -march=x86-64)
case $compiler in
  *nvcc)  # with each g++ that it takes as a host and that is here, for any processor, AVX2, and this one
    for host in g++-12 g++-13 g++-14 g++-15; do
      command -v $host >/dev/null || { echo "$host is not installed: not tried as a host of nvcc"; continue; }
      set -- "$compiler" -ccbin $host -O2 --expt-relaxed-constexpr -x cu
      check separate "$@" -Xcompiler -march=x86-64
      check fused "$@" -Xcompiler -march=x86-64-v3
      check fused "$@" -Xcompiler -march=native
      check fused "$@" -DTENON_TARGET=reference,counting "-I$source/tests/support/targets" -Xcompiler -march=native
    done
    exit $faults ;;
esac
echo "g++ -O2 -march=x86-64: $separate"
if [ "${separate% *}" != "${fused% *}" ]; then echo "FAILED: initial weights differ"; faults=1; fi
check separate "$compiler" -O1 -march=x86-64
check separate "$compiler" -O3 -march=x86-64-v2
check separate "$compiler" -O2 -mavx
for flags in -O0 -O1 -O3 -Os '-O1 -ffp-contract=on' '-O1 -fno-inline' '-O2 -flto' '-O1 -fwrapv' \
  '-O1 -fno-strict-aliasing' '-O1 -fsanitize=address' '-O1 -fsanitize=undefined' '-O1 -DNDEBUG' \
    '-O2 -funroll-loops -ftree-vectorize'; do
  # shellcheck disable=SC2086  # several words
  check fused "$compiler" $flags -march=x86-64-v3
done
[ "$compiler" != g++ ] || check fused g++ -O3 -ffp-contract=fast -march=x86-64-v3  # clang's is refused
check fused "$compiler" -O2 -march=native
if runs avx512vl && runs avx512dq; then check fused "$compiler" -O2 -march=x86-64-v4
else echo "x86-64-v4: this processor has no AVX-512"
fi
exit $faults
