#!/bin/sh
# Compiles headers alone, and included twice: `alone.sh [compiler [public|all]]`. Public are those that users include;
# all are also the internals of graphs and kernels, which takes half as long again. The results are kept in the current
# folder, so that the next run looks only at headers that changed (alone.mk). Exit status 77: the compiler is not here.
set -u
here=$(cd "$(dirname "$0")" && pwd)
compiler=${1:-g++}
internal=
[ "${2:-all}" = all ] || internal='graph kernel eager'
command -v "$compiler" >/dev/null || { echo "SKIPPED: $compiler is not installed"; exit 77; }
unset MAKEFLAGS MAKELEVEL

make -s -k -j"${CMAKE_BUILD_PARALLEL_LEVEL:-$(nproc)}" -f "$here/alone.mk" CXX="$compiler" \
  include="$here/../../include" internal="$internal" >alone.log 2>&1
status=$?
all=$(find tenon -name '*.ok' | wc -l)
if [ $status -ne 0 ] || [ "$all" -eq 0 ]; then
  cat alone.log
  echo "FAILED with $compiler; a header must include what it uses, and must bear being included twice."
  exit 1
fi
echo "$all headers compile alone and twice with $compiler."
