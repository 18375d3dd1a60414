#!/bin/sh
# Compiles headers alone, and included twice: `alone.sh [compiler [public|all]]`. Public are those that users include;
# all are also the internals of graphs, kernels, and tools, which takes twice as long. The results are kept in the
# current folder, so that the next run looks only at headers that changed (alone.mk). g++ reads what many of them
# include from precompiled headers, which takes a third of the time and hides nothing: a header that includes
# nn/cell.hpp has all of it in any case. For the same reason one unit may show several public headers: each stands
# behind only such as it includes, be it by others, or as include no more than it does and declare no word that it uses.
# Of 81 headers that lacked an include, 80 were found so. The rest, such as a template that a later header of the unit
# defines, is seen with `all`, which gives each header a unit of its own.
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
    next
  }
  internal != "" {
    sub(/\/\/.*/, "")
    declares = /^[a-z]/ && !/^(template|namespace)/  # in a namespace, where nothing is indented
    count = split($0, words, /[^A-Za-z0-9_]+/)
    for (k = 1; k <= count; ++k)
      if (words[k] ~ /^[A-Za-z_]/) {
        has[header, words[k]]
        if (declares) declared[header] = declared[header] " " words[k]
      }
  }
  # notes of each header that includes `name`, be it by others, that it includes `top`
  function visit(top, name,    each, k) {
    for (k = split(included_by[name], each, " "); k > 0; --k)
      if (!((each[k], top) in includes)) {
        includes[each[k], top]
        all_of[each[k]] = all_of[each[k]] " " top
        ++size[each[k]]
        visit(top, each[k])
      }
  }
  # whether a header that `name` includes has the word
  function sees(name, word,    each, k) {
    for (k = split(all_of[name], each, " "); k > 0; --k) if ((each[k], word) in has) return 1
    return 0
  }
  # whether `name` in front of `above` hides nothing that this one lacks: it is included there; or all that it includes
  # is, and `above` uses no word that only `name` declares
  function fits(name, above,    each, k) {
    if ((above, name) in includes) return 1
    for (k = split(all_of[name], each, " "); k > 0; --k) if (!((above, each[k]) in includes)) return 0
    for (k = split(declared[name], each, " "); k > 0; --k)
      if (((above, each[k]) in has) && !sees(above, each[k])) return 0
    return 1
  }
  function fits_all(name, chain,    each, k) {
    for (k = split(chain, each, " "); k > 0; --k) if (!fits(name, each[k])) return 0
    return 1
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
    # headers that include each other have an order that matters; the others by how many they include, the most first
    for (name in included_by)
      if (name !~ "^(debug|" internal ")/" && !((name, name) in includes)) {
        for (k = ++left; k > 1 && (size[order[k - 1]] < size[name] || (size[order[k - 1]] == size[name] &&
            order[k - 1] > name)); --k) order[k] = order[k - 1]
        order[k] = name
      }
    for (first = 1; first <= left; ++first) {
      if (order[first] == "") continue
      chain = top = order[first]
      for (k = first + 1; k <= left; ++k)
        if (order[k] != "" && of[order[k]] == of[top] && fits_all(order[k], chain)) {
          chain = order[k] " " chain
          order[k] = ""
        }
      if (chain == top) continue
      sub(" " top "$", "", chain)
      print "chain." top " := " chain
      print "behind += " chain
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
