#!/bin/sh
# What a compiler says of Tenon to one who includes it without -isystem: nothing, also where the program has globals
# with the names of Tenon's locals, of which g++ reports those of templates (-Wshadow).
#   warnings.sh short|long COMPILER
# short: of the headers. long: of README's program, for any x86-64 (of which g++ would note that wide vectors were
# passed in another way before 2010), and for this processor.
# Exit status 77: the compiler is not here.
set -u
source=$(cd "$(dirname "$0")/../.." && pwd)
compiler=$2
command -v "$compiler" >/dev/null || { echo "SKIPPED: $compiler is not installed"; exit 77; }
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
printf '#include <tenon/more.hpp>\n#include <tenon/dist.hpp>\nint main() {}\n' >"$work/program.cpp"
[ "$1" = short ] ||
  awk '/^```cpp$/ { inside = 1; next } /^```$/ { if (inside) exit }
    inside && !/^#include/ && !globals++ {
      print "int length, value, first, row, rows, column, columns, count, begin, end, lane, number, sum, factor, step;"
    }
    inside' "$source/README.md" >"$work/program.cpp"

faults=0
silent() {
  "$compiler" -std=c++20 -I"$source/include" "$@" "$work/program.cpp" >"$work/said" 2>&1
  status=$?
  if [ $status -ne 0 ] || [ -s "$work/said" ]; then
    head -n 60 "$work/said"
    echo "FAILED: $compiler $* says $(grep -c 'warning:\|note:' "$work/said") things"
    faults=1
  fi
}
set -- "$1" -Wall -Wextra -Wconversion -Wshadow -Wsign-conversion -Wpedantic
case $1 in
  short) shift; silent "$@" -march=native -fsyntax-only ;;
  *)
    shift
    silent "$@" -O0 -c -o "$work/program.o"
    silent "$@" -O2 -c -o "$work/program.o"
    silent "$@" -O3 -march=native -c -o "$work/program.o" ;;
esac
[ $faults -eq 0 ] && echo "$compiler has nothing to say."
exit $faults
