#!/bin/sh
# Links headers alone: what a header defines inline must not call a function that only another header defines, or a
# program that includes it alone does not link. The compiler is told to keep inline functions, so that the object names
# what they miss.
#   linked.sh [compiler [headers or folders below include/tenon]...]
# Without the last: those that have failed, or stand at the bottom. "." are all, which takes many minutes.
# Exit status 77: the compiler, or nm, is not here.
set -u
include=$(cd "$(dirname "$0")/../../include" && pwd)
compiler=${1:-g++}
[ $# -gt 0 ] && shift
[ $# -gt 0 ] || set -- run/tape.hpp core/memory/storage.hpp graph/plan/plan.hpp io/file.hpp
for tool in "$compiler" nm; do
  command -v "$tool" >/dev/null || { echo "SKIPPED: $tool is not installed"; exit 77; }
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# Functions of observed programs that unobserved ones declare and never call.
observed='detail::(WatchedStep::(begin|end)|watches|operations_of)[(]'
faults=0 headers=0
for header in $(cd "$include/tenon" && find "$@" -name '*.hpp' | sed 's|^[.]/||' | sort); do
  flags=
  case $header in
    backend/cuda/*) flags="-DTENON_TARGET=cuda -I$include/../tests/support/cuda" ;;
    debug/*) flags=-DTENON_OBSERVE ;;
  esac
  echo "#include <tenon/$header>" >"$work/unit.cpp"
  # shellcheck disable=SC2086  # none, or several
  if ! "$compiler" -std=c++20 -O0 -fkeep-inline-functions $flags -I"$include" -c "$work/unit.cpp" \
    -o "$work/unit.o" 2>"$work/log"
  then
    head -n 5 "$work/log"
    echo "FAILED: $header does not compile"
    faults=1
    continue
  fi
  if nm -uC "$work/unit.o" | grep -E '^ +U tenon::' | grep -vE "$observed" >"$work/missing"; then
    sed 's/^ *U /  /' "$work/missing"
    echo "FAILED: $header calls these, which it neither defines nor includes"
    faults=1
  fi
  headers=$((headers + 1))
done
[ $headers -gt 0 ] || { echo "FAILED: no header was found"; exit 1; }
[ $faults -ne 0 ] || echo "$headers headers link alone"
exit $faults
