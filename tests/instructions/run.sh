#!/bin/sh
# The instructions of a call of five kernels, and of log lines that are not written, counted by callgrind, are at most
# 3 % more than bounds.txt says: no noise moves them.
#   run.sh SOURCE_DIR CXX             the test
#   run.sh SOURCE_DIR CXX --renew     writes bounds.txt anew, after a change that is meant to be
# Bounds hold for one compiler and one instruction set: AVX2, since valgrind does not know AVX-512.
set -eu
source=$1 cxx=$2 renew=${3:-}
march=x86-64-v3
bounds=$source/tests/instructions/bounds.txt
[ "$(uname -m)" = x86_64 ] || { echo "SKIPPED: instructions are counted on x86_64 only"; exit 77; }
command -v valgrind >/dev/null ||
  { echo "SKIPPED: valgrind is not installed (apt-get install valgrind), instructions were not counted"; exit 77; }
compiler="$("$cxx" --version | head -n 1 | sed 's/.*(.*) //; s/ .*//') $(basename "$cxx" | sed 's/^c++$/g++/')"
[ -n "$renew" ] || grep -q "^# $compiler $march$" "$bounds" ||
  { echo "SKIPPED: there are no bounds of instructions for '$compiler' in tests/instructions/bounds.txt"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$cxx" -std=c++20 -O2 -DNDEBUG -march=$march -I"$source/include" "$source/tests/instructions/kernels.cpp" \
  -o "$work/kernels" -lpthread

# Instructions of a program that makes so many calls.
collected() {
  valgrind --tool=callgrind --callgrind-out-file=/dev/null "$work/kernels" "$1" "$2" 2>"$work/log" ||
    { cat "$work/log"; exit 1; }
  sed -n 's/.*Collected : //p' "$work/log"
}
# The first calls find memory and may differ from later ones.
of_a_call() { echo $((($(collected "$1" 6) - $(collected "$1" 2)) / 4)); }

failed=0
[ -z "$renew" ] || echo "# $compiler $march" >"$work/bounds"
for name in gemm_96 conv_3_16_3x3 softmax_64x100 eager_add_4 lenet_step_32 log_nothing_1000; do
  count=$(of_a_call $name)
  [ "$count" -gt 0 ] || { echo "$name: valgrind counted nothing"; cat "$work/log"; exit 1; }
  [ -z "$renew" ] || { echo "$name $count" | tee -a "$work/bounds"; continue; }
  bound=$(awk -v name=$name '$1 == name { print $2 }' "$bounds")
  echo "$name: $count instructions, bound $bound"
  if [ $((count * 100)) -gt $((bound * 103)) ]; then
    echo "  more than 3 % above its bound. If that is meant to be: sh tests/instructions/run.sh . $cxx --renew"
    failed=1
  elif [ $((count * 100)) -lt $((bound * 90)) ]; then
    echo "  far below its bound, which holds nothing any more: sh tests/instructions/run.sh . $cxx --renew"
    failed=1
  fi
done
[ -z "$renew" ] || cp "$work/bounds" "$bounds"
exit $failed
