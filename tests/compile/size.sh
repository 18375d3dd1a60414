#!/bin/sh
# A stripped trainer, pinned to graph mode, with data, LossMonitor, and saving, takes no more than 84 pages of 4 KB; of
# g++ 14 and newer 86. clang inlines more: its trainer stays below 460 KB. It is one for processors with AVX2: by
# -march=native the result would depend on the processor, by up to two pages.
#   size.sh SOURCE_DIR CXX
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$1"  # the program holds names of files: relative ones, so that its size does not depend on the folder
"$2" -std=c++20 -O2 -march=x86-64-v3 -DTENON_WITH_ZLIB=1 -Iinclude benchmarks/size/mnist_graph.cpp \
  -o "$work/mnist_graph" -lz -lpthread
if nm -C "$work/mnist_graph" | grep -q 'eager::Tape::'; then
  echo "a program that is pinned to graph mode contains the tape:"
  nm -C "$work/mnist_graph" | grep 'eager::Tape::' | head -5
  exit 1
fi
strip "$work/mnist_graph"
bytes=$(wc -c <"$work/mnist_graph")
bar=344064
[ "$("$2" -dumpversion | cut -d . -f 1)" -lt 14 ] || bar=352256
! "$2" --version | grep -q clang || bar=471040
echo "stripped graph-only MNIST trainer: $bytes bytes, bar $bar"
[ "$bytes" -le $bar ]
