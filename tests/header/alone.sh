#!/bin/sh
# Compiles headers alone, and included twice: `alone.sh [compiler [public|all]]`. Public are those that users include;
# all are also the internals of graphs, kernels, and tools, which takes half as long again. The results are kept in the
# current folder, so that the next run looks only at headers that changed (alone.mk). g++ reads what many of them
# include from precompiled headers, which takes a third of the time and hides nothing: a header that includes
# nn/cell.hpp has all of it in any case. Exit status 77: the compiler is not here.
set -u
here=$(cd "$(dirname "$0")" && pwd)
compiler=${1:-g++}
internal=
[ "${2:-all}" = all ] || internal='graph kernel eager debug/dump debug/graphs debug/profiler debug/report'
command -v "$compiler" >/dev/null || { echo "SKIPPED: $compiler is not installed"; exit 77; }
unset MAKEFLAGS MAKELEVEL

# the first of these that a header includes, be it by others
bases='nn/cell ops/elementwise core/tensor train/callback/run_info core/tensor/any_tensor core/error'
[ "$compiler" = g++ ] || bases=
(cd "$here/../../include" && find tenon -name '*.hpp' -exec awk -v bases="$bases" '
  match($0, /^[ \t]*#[ \t]*include[ \t]*<tenon\/.*[.]hpp>/) {
    included = $0
    gsub(/^[^<]*<tenon\/|[.]hpp>.*$/, "", included)
    users[included] = users[included] " " substr(FILENAME, 7, length(FILENAME) - 10)
  }
  function visit(base, name,    each, k) {
    for (k = split(users[name], each, " "); k > 0; --k)
      if (!(each[k] in of)) { of[each[k]] = base; visit(base, each[k]) }
  }
  END {
    split(bases, base, " ")
    for (k = 1; k in base; ++k) visit(base[k], base[k])
    for (name in of) print "base." name " := " of[name]
  }' {} +) | LC_ALL=C sort >bases.mk

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
