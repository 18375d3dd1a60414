#!/bin/sh
# A kernel in an object of its own, which another compiler with other flags has made, is called from templates with
# run-time sizes: `separate_object.sh SOURCE_DIR CXX`. This is how a program reaches kernels that nvcc compiles.
set -eu
source=$1 cxx=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$cxx" -std=c++20 -O1 -march=native -DTENON_TARGET=reference,separate "-I$source/include" \
  "-I$source/tests/support/targets" -c "$source/tests/target/separate_object/program.cpp" -o "$work/program.o"
product=$source/tests/target/separate_object/product.cpp
failed=0
# try NAME LIBRARIES COMPILER FLAGS...: the program with the object that this compiler makes.
try() {
  name=$1 libraries=$2
  shift 2
  command -v "$1" >/dev/null || { echo "$name: $1 is not installed, not tried"; return; }
  # shellcheck disable=SC2086  # several libraries
  if "$@" -c "$product" -o "$work/product.o" >"$work/report" 2>&1 &&
    "$cxx" "$work/program.o" "$work/product.o" -o "$work/program" -lpthread $libraries >"$work/report" 2>&1 &&
    "$work/program" >"$work/report" 2>&1 && [ "$(cat "$work/report")" = "$name" ]
  then echo "$*: ok"
  else
    echo "FAILED: $*:"
    cat "$work/report"
    failed=1
  fi
}
try g++ "" g++ -std=c++17 -O0
try g++ "" g++ -std=c++20 -O3 -march=native
try clang "" clang++-19 -std=c++14 -O2
nvcc=$(command -v nvcc || ls /usr/local/cuda/bin/nvcc 2>/dev/null || echo nvcc)
if command -v "$nvcc" >/dev/null; then
  cuda=$(dirname "$(dirname "$(readlink -f "$nvcc")")")
  try nvcc "-L$cuda/lib64 -L$cuda/targets/x86_64-linux/lib -lcudart_static -ldl -lrt" "$nvcc" -std=c++17 -x cu
else
  echo "nvcc is not installed, not tried"
fi
exit $failed
