#!/bin/sh
# What it costs to compile Tenon: CPU seconds (user + system) and peak memory per program, as a Markdown table; from
# headers, with the compiled part (docs/consuming.md), with a precompiled header, and with both.
#
#   sh benchmarks/compile/measure.sh [NAME]...     header, mnist, resnet18, resnet50-graph, resnet50, gpt12-graph, gpt12
#   CXX=g++                                        compiler
#   OLD=DIR                                        another checkout, whose seconds from headers stand beside in each row
#   ROUNDS=3                                       the least of so many rounds counts, each over all columns
set -eu
cd "$(dirname "$0")/../.."
cxx=${CXX:-g++} old=${OLD:-} rounds=${ROUNDS:-3}
[ $# -gt 0 ] || set -- header mnist resnet18 resnet50-graph resnet50 gpt12-graph gpt12
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
flags='-std=c++20 -O2 -march=native -DTENON_WITH_ZLIB=1'

# measured NAME COMMAND...: adds `CPU seconds, MB` of the command to the file NAME.
measured() {
  column=$1
  shift
  /usr/bin/time -o "$work/time" -f '%U %S %M' "$@"
  tail -n 1 "$work/time" | awk '{ printf "%.2f %.0f\n", $1 + $2, $3 / 1024 }' >>"$work/$column"
}
least() { sort -n "$work/$1" | head -n 1; }

# The compiled part, and precompiled headers for both ways.
for source in compiled/*.cpp; do
  # shellcheck disable=SC2086  # several flags, here and below
  measured part "$cxx" $flags -Iinclude -c "$source" -o "$work/part.o"
done
# precompiled WAY: the flags that read the header of that way, '' or -DTENON_COMPILED. It comes before all includes of a
# source, as CMake has it: behind another one g++ would not read it.
precompiled() {
  case $cxx in
    *clang*) echo "-include-pch $work/pch$1/tenon.hpp.pch" ;;
    *) echo "-include $work/pch$1/tenon.hpp${1:+ --param=ggc-min-heapsize=400000}" ;;  # as cmake/compiled.cmake
  esac
}
for way in '' -DTENON_COMPILED; do
  mkdir -p "$work/pch$way"
  header=$work/pch$way/tenon.hpp
  case $cxx in
    *clang*) output=$header.pch ;;
    *) output=$header.gch ;;
  esac
  echo '#include <tenon/tenon.hpp>' >"$header"
  measured precompiled "$cxx" $flags $way -Iinclude -x c++-header "$header" -o "$output"
  [ "$output" = "$header.pch" ] || echo '#error "the precompiled header is not read"' >"$header"
done
awk -v compiler="$("$cxx" --version | head -n 1)" '
  { seconds += $1 }
  END { printf "%s; the compiled part takes %.1f s, once per set of flags.\n\n", compiler, seconds }' "$work/part"

printf '| program | old | from headers | compiled part | precompiled header | both | MB from headers | MB compiled |\n'
printf '|---|---|---|---|---|---|---|---|\n'
for name in "$@"; do
  own=
  case $name in
    header) source=benchmarks/compile/header.cpp ;;
    mnist) source=examples/06_mnist.cpp ;;
    *-graph) source=benchmarks/compile/${name%-graph}.cpp own=-DGRAPH_ONLY ;;
    *) source=benchmarks/compile/$name.cpp ;;
  esac
  [ -f "$source" ] || { echo "measure.sh: there is no program '$name'" >&2; exit 2; }
  rm -f "$work"/column.*
  round=0
  while [ $((round += 1)) -le "$rounds" ]; do
    [ -z "$old" ] || measured column.old "$cxx" $flags $own "-I$old/include" -c "$old/$source" -o "$work/object.o"
    measured column.headers "$cxx" $flags $own -Iinclude -c "$source" -o "$work/object.o"
    measured column.compiled "$cxx" $flags $own -DTENON_COMPILED -Iinclude -c "$source" -o "$work/object.o"
    measured column.precompiled "$cxx" $flags $own $(precompiled '') -Iinclude -c "$source" -o "$work/object.o"
    measured column.both "$cxx" $flags $own -DTENON_COMPILED $(precompiled -DTENON_COMPILED) -Iinclude -c "$source" \
      -o "$work/object.o"
  done
  [ -n "$old" ] || echo '- -' >"$work/column.old"
  {
    for each in old headers compiled precompiled both; do least column.$each; done
  } | awk -v name="$name" '
    { seconds[NR] = $1; memory[NR] = $2 }
    END {
      printf "| %s | %s | %s | %s | %s | %s | %s | %s |\n", name, seconds[1], seconds[2], seconds[3], seconds[4],
        seconds[5], memory[2], memory[3]
    }'
done
