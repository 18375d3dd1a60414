#!/bin/sh
# ONNX's node cases, computed by Tenon: cases.txt has their names, and why some are out of scope. A program that knows
# nothing of operators (generate.cpp) writes them as typed programs.
#   run.sh CXX short          the cases with a star, with the files of Debian's package libonnx-testdata
#   run.sh CXX long           all of them, with those of the Python package onnx 1.22, which pip loads
#   run.sh CXX FOLDER NAME... these cases of a folder of cases
set -u
here=$(cd "$(dirname "$0")" && pwd) || exit 1
root=$(cd "$here/../.." && pwd) || exit 1
cxx=$1 which=$2
shift 2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
echo '#include <protozero/pbf_reader.hpp>' | "$cxx" -E -x c++ - >/dev/null 2>&1 || {
  echo "SKIPPED: protozero is not installed (libprotozero-dev)"
  exit 77
}

case $which in
  short)
    cases=/usr/share/libonnx-testdata/data/node
    names=$(sed -n 's/^\* *\([a-zA-Z0-9_]*\).*/\1/p' "$here/cases.txt")
    [ -d "$cases" ] || { echo "SKIPPED: the cases are not installed (libonnx-testdata)"; exit 77; }
    ;;
  long)
    python3 -m pip download -q --no-deps -d "$work" onnx==1.22.0 >"$work/pip.log" 2>&1 &&
      python3 -m zipfile -e "$work"/onnx-*.whl "$work/onnx" || { echo "SKIPPED: pip cannot load onnx 1.22"; exit 77; }
    cases=$work/onnx/onnx/backend/test/data/node
    names=$(sed -n 's/^\** *\(test_[a-zA-Z0-9_]*\) *$/\1/p' "$here/cases.txt")
    ;;
  *)
    cases=$which
    names=$*
    ;;
esac

"$cxx" -std=c++20 -O1 "$here/generate.cpp" -o "$work/generate" || exit 1
flags="-std=c++20 -O0 -march=native -I$root/include -I$here"
# shellcheck disable=SC2086  # flags
"$cxx" $flags -c "$here/main.cpp" -o "$work/main.o" || exit 1
export cxx flags cases work
# a program of 15 cases each
# shellcheck disable=SC2016  # the inner shell expands these
printf '%s\n' $names | xargs -n 15 | awk '{ print NR, $0 }' >"$work/shards"
# shellcheck disable=SC2016
xargs -P "$(nproc)" -I{} sh -c '
  set -- {}
  shard=$1
  shift
  "$work/generate" "$cases" "$@" >"$work/$shard.cpp" &&
    $cxx $flags "$work/$shard.cpp" "$work/main.o" -o "$work/$shard" -lpthread >"$work/$shard.log" 2>&1 ||
    { echo "FAILED to compile $*"; grep -m 3 error "$work/$shard.log"; exit 1; }
  "$work/$shard" "$cases" >"$work/$shard.log" 2>&1 || { cat "$work/$shard.log"; exit 1; }
' <"$work/shards" || { echo "FAILED: ONNX expects other results."; exit 1; }
passed=$(sed -n 's/.*test cases: *[0-9]* *| *\([0-9]*\) passed.*/\1/p' "$work"/*.log |
  awk '{ n += $1 } END { print n + 0 }')
asked=$(printf '%s\n' $names | wc -l)
echo "$passed of $asked ONNX cases give the numbers of their files, in both modes."
[ "$passed" -eq "$asked" ]
