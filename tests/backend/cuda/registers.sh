#!/bin/sh
# Registers, stack, spills, and static shared memory of the kernels of benchmarks' networks, as a table, and a line for
# each network and GPU, as docs/cuda.md has it. Fails if a kernel spills or has a stack, or if an element-wise one does
# not load and store 16 bytes at once.
#   registers.sh SOURCE_DIR [--arch 80,90,100] [NETWORK...]
set -eu
source=$1
shift
arches=80,90,100
if [ "${1:-}" = --arch ]; then arches=$2; shift 2; fi
[ $# -gt 0 ] || set -- lenet lstm gpt resnet
PATH=$PATH:/usr/local/cuda/bin
command -v nvcc >/dev/null || { echo "SKIPPED: nvcc is not installed, nothing was compiled for the device"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
code=
for arch in $(echo "$arches" | tr , ' '); do code="$code -gencode=arch=compute_$arch,code=sm_$arch"; done
for network in "$@"; do
  mkdir "$work/$network"
  # shellcheck disable=SC2086  # several words
  nvcc -x cu -fatbin --keep --keep-dir "$work/$network" -std=c++20 -O2 --expt-relaxed-constexpr --extended-lambda \
    -fmad=false -ftz=true -DNDEBUG -Xcompiler=-march=native -DTENON_TARGET=cuda $code -Xptxas=-v "-I$source/include" \
    "$source/benchmarks/run/$network.cpp" -o "$work/$network.fatbin" >"$work/$network.text" 2>&1 ||
    { grep error "$work/$network.text"; exit 1; }
done
cd "$work"
# A line per kernel and architecture, then its name in words, without namespaces, shortened.
for network in "$@"; do
  awk -v network="$network" '
    /Compiling entry function/ { split($0, part, "\047"); kernel = part[2]; arch = part[4]; stack = spill = 0 }
    /bytes stack frame/ && kernel { stack = $1; spill = $5 + $9 }
    /Used [0-9]+ registers/ && kernel {
      shared = 0
      if (match($0, /[0-9]+ bytes smem/)) shared = substr($0, RSTART, RLENGTH) + 0
      for (i = 1; i < NF; ++i) if ($i == "Used") registers = $(i + 1)
      print network, arch, registers, stack, spill, shared, kernel
      kernel = ""
    }' "$network.text"
done >lines
[ -s lines ] || { echo "FAILED: nvcc said nothing about kernels"; exit 1; }
c++filt <lines | sed 's/tenon::v[0-9A-Za-z_]*:://g; s/kernel::cuda:://g; s/void run_[a-z_]*//; s/(Body[^)]*)$//' >table
printf '| network | GPU | registers | stack, bytes | spills, bytes | shared, bytes | kernel |\n'
printf '|---|---|---|---|---|---|---|\n'
awk '{ text = $7; for (i = 8; i <= NF; ++i) text = text " " $i
  printf "| %s | %s | %d | %d | %d | %d | %s |\n", $1, $2, $3, $4, $5, $6, substr(text, 1, 120) }' table
printf '\n| network | GPU | kernels | registers, most | stack, most bytes | spills, bytes | shared, most bytes |\n'
printf '|---|---|---|---|---|---|---|\n'
awk '
  function at_least(list, key, value) { if (value + 0 > list[key] + 0) list[key] = value }
  { key = $1 " | " $2
    if (!(key in kernels)) order[++keys] = key
    ++kernels[key]; spills[key] += $5
    at_least(registers, key, $3); at_least(stack, key, $4); at_least(shared, key, $6) }
  END { for (i = 1; i <= keys; ++i) { key = order[i]
    printf "| %s | %d | %d | %d | %d | %d |\n", key, kernels[key], registers[key], stack[key], spills[key],
      shared[key] } }' table
status=0
awk '$5 > 0 { ++spilling } $4 > 0 { ++stacks }
  END {
    if (spilling) printf "FAILED: %d kernels spill registers\n", spilling
    if (stacks) printf "FAILED: %d kernels have a stack\n", stacks
    exit spilling || stacks ? 1 : 0
  }' table || status=1

for network in "$@"; do
  # PTX, an instruction of which for vectors of four becomes one of 128 bits
  cat "$network"/*.ptx | awk -v network="$network" '
    function finish() {
      if (kernel ~ /11ElementwiseI/) {
        ++all
        if (!loads || !stores) { ++narrow; print "not 16 bytes at once: " network ", " kernel }
      }
      kernel = ""
    }
    / \.entry / { finish(); kernel = $3; loads = stores = 0 }
    /\tld\.[a-z.]*v4\./ { loads = 1 }
    /\tst\.[a-z.]*v4\./ { stores = 1 }
    END {
      finish()
      printf "%s: %d element-wise kernels, %d of them load and store 16 bytes at once\n", network, all, all - narrow
      exit narrow || !all ? 1 : 0
    }' >wide || status=1
  c++filt <wide | sed 's/tenon::v[0-9A-Za-z_]*:://g; s/kernel::cuda:://g'
done
exit $status
