#!/bin/sh
# Registers, spills, and static shared memory of the kernels of benchmarks' networks, as a table. Fails if one spills.
#   registers.sh SOURCE_DIR [--arch 80,90,100] [NETWORK...]
set -eu
source=$1
shift
arches=80,90,100
if [ "${1:-}" = --arch ]; then arches=$2; shift 2; fi
[ $# -gt 0 ] || set -- lenet lstm gpt resnet
nvcc=$(command -v nvcc || ls /usr/local/cuda/bin/nvcc 2>/dev/null || true)
[ -n "$nvcc" ] || { echo "SKIPPED: nvcc is not installed, nothing was compiled for the device"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
code=
for arch in $(echo "$arches" | tr , ' '); do code="$code -gencode=arch=compute_$arch,code=sm_$arch"; done
for network in "$@"; do
  # shellcheck disable=SC2086  # several words
  "$nvcc" -x cu -fatbin -std=c++20 -O2 --expt-relaxed-constexpr --extended-lambda -fmad=false -ftz=true -DNDEBUG \
    -Xcompiler=-march=native -DTENON_TARGET=cuda $code -Xptxas=-v "-I$source/include" \
    "$source/benchmarks/run/$network.cpp" -o "$work/fatbin" >"$work/$network.text" 2>&1 ||
    { grep error "$work/$network.text"; exit 1; }
done
cd "$work"
# A line per kernel and architecture, then its name in words, without namespaces, shortened.
for network in "$@"; do
  awk -v network="$network" '
    /Compiling entry function/ { split($0, part, "\047"); kernel = part[2]; arch = part[4]; spill = 0 }
    /bytes spill stores/ && kernel { spill = $5 + $9 }
    /Used [0-9]+ registers/ && kernel {
      shared = 0
      if (match($0, /[0-9]+ bytes smem/)) shared = substr($0, RSTART, RLENGTH) + 0
      for (i = 1; i < NF; ++i) if ($i == "Used") registers = $(i + 1)
      print network, arch, registers, spill, shared, kernel
      kernel = ""
    }' "$network.text"
done >lines
[ -s lines ] || { echo "FAILED: nvcc said nothing about kernels"; exit 1; }
c++filt <lines | sed 's/tenon::v[0-9A-Za-z_]*:://g; s/kernel::cuda:://g; s/void run_[a-z_]*//; s/(Body[^)]*)$//' >table
printf '| network | GPU | registers | spills, bytes | shared, bytes | kernel |\n|---|---|---|---|---|---|\n'
awk '{ text = $6; for (i = 7; i <= NF; ++i) text = text " " $i
  printf "| %s | %s | %d | %d | %d | %s |\n", $1, $2, $3, $4, $5, substr(text, 1, 120) }' table
awk '{ ++kernels; if ($3 > most) most = $3; if ($4 > 0) ++spilling }
  END {
    printf "%d kernels, at most %d registers\n", kernels, most
    if (spilling) { printf "FAILED: %d kernels spill registers\n", spilling; exit 1 }
  }' table
