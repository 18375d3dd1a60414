#!/bin/sh
# Compiles every public header alone, and included twice: `alone.sh [compiler]`. The results are kept in the current
# folder, so that the next run looks only at headers that changed (alone.mk). Exit status 77: the compiler is not here.
set -u
here=$(cd "$(dirname "$0")" && pwd)
compiler=${1:-g++}
command -v "$compiler" >/dev/null || { echo "SKIPPED: $compiler is not installed"; exit 77; }
unset MAKEFLAGS MAKELEVEL

make -s -k -j"${CMAKE_BUILD_PARALLEL_LEVEL:-$(nproc)}" -f "$here/alone.mk" CXX="$compiler" \
  include="$here/../../include" >alone.log 2>&1
status=$?
all=$(find "$here/../../include/tenon" -name '*.hpp' | wc -l)
if [ $status -ne 0 ] || [ "$all" -eq 0 ]; then
  cat alone.log
  echo "FAILED with $compiler; a header must include what it uses, and must bear being included twice."
  exit 1
fi
echo "$all headers compile alone and twice with $compiler."
