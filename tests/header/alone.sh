#!/bin/sh
# Compiles headers alone, and included twice: `alone.sh [compiler [public|all]]`. Public are those that users include;
# all are also the internals of graphs, kernels, and tools, which takes half as long again. The results are kept in the
# current folder, so that the next run looks only at headers that changed (alone.mk). g++ reads what many of them
# include from precompiled headers, which takes a third of the time and hides nothing: a header that includes
# nn/cell.hpp has all of it in any case. For the same reason one unit may show several public headers: each stands
# behind only such as it includes, be it by others. What a later one of them would cure at the end of the unit, a
# template that has no definition yet, is seen with `all`, which gives each header a unit of its own.
# Exit status 77: the compiler is not here.
set -u
here=$(cd "$(dirname "$0")" && pwd)
compiler=${1:-g++}
internal=
[ "${2:-all}" = all ] || internal='graph backend lowering run call debug/dump debug/graphs debug/profiler debug/report'
command -v "$compiler" >/dev/null || { echo "SKIPPED: $compiler is not installed"; exit 77; }
unset MAKEFLAGS MAKELEVEL
# gRPC is large: this test does not install it
without=
echo '#include <grpcpp/grpcpp.h>' | "$compiler" -E -x c++ - >/dev/null 2>&1 || without='serve/grpc serve/grpc/call'

# the first of these that a header includes, be it by others: the largest stand first
bases='nn/cell call/apply run/executor dataset/stage/column core/tensor core/memory/memory_limit core/tensor/any_tensor
  core/error'
for base in $bases; do
  [ -f "$here/../../include/tenon/$base.hpp" ] || { echo "FAILED: alone.sh: there is no header $base.hpp"; exit 1; }
done
[ "$compiler" = g++ ] || bases=
(cd "$here/../../include" && find tenon -name '*.hpp' ! -path "tenon/${without%% *}.hpp" \
  ! -path "tenon/${without##* }.hpp" -exec awk -v bases="$(echo $bases)" -v internal="$internal" '
  FNR == 1 { header = substr(FILENAME, 7, length(FILENAME) - 10); included_by[header] = included_by[header] "" }
  match($0, /^[ \t]*#[ \t]*include[ \t]*<tenon\/.*[.]hpp>/) {
    included = $0
    gsub(/^[^<]*<tenon\/|[.]hpp>.*$/, "", included)
    included_by[included] = included_by[included] " " header
  }
  # notes of each header that includes `name`, be it by others, that it includes `top`
  function visit(top, name,    each, k) {
    for (k = split(included_by[name], each, " "); k > 0; --k)
      if (!((each[k], top) in includes)) {
        includes[each[k], top]
        ++size[each[k]]
        visit(top, each[k])
      }
  }
  # of the headers left, the one that includes most, of those with this base that `above` includes (all where it is "")
  function largest(above, base,    name, best) {
    best = ""
    for (name in left)
      if (above == "" || (((above, name) in includes) && of[name] == base))
        if (best == "" || size[name] > size[best] || (size[name] == size[best] && name < best)) best = name
    return best
  }
  END {
    for (name in included_by) visit(name, name)
    count = split(bases, base, " ")
    for (name in included_by)
      for (k = count; k > 0; --k)
        if ((name, base[k]) in includes) of[name] = base[k]
    for (name in of) print "base." name " := " of[name]
    if (internal == "") exit
    gsub(/ /, "|", internal)
    # headers that include each other have an order that matters
    for (name in included_by) if (name !~ "^(debug|" internal ")/" && !((name, name) in includes)) left[name]
    while ((top = largest("")) != "") {
      delete left[top]
      chain = ""
      for (name = top; (name = largest(name, of[top])) != ""; chain = name " " chain) delete left[name]
      if (chain != "") print "chain." top " := " chain
      if (chain != "") print "behind += " chain
    }
  }' {} +) | LC_ALL=C sort >bases.mk

make -s -k -j"${CMAKE_BUILD_PARALLEL_LEVEL:-$(nproc)}" -f "$here/alone.mk" CXX="$compiler" \
  include="$here/../../include" internal="$internal" without="$without" >alone.log 2>&1
status=$?
all=$(find tenon -name '*.ok' -exec cat {} + | sort -u | wc -l)
if [ $status -ne 0 ] || [ "$all" -eq 0 ]; then
  cat alone.log
  echo "FAILED with $compiler; a header must include what it uses, and must bear being included twice."
  exit 1
fi
echo "$all headers compile alone and twice with $compiler."
