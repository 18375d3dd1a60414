#!/bin/sh
# What it costs to compile a loop does not depend on the number of its turns: what the compiler allocates, which follows
# the work that it does, is the same for 6 turns and for 1,000, within a hundredth.
#   turns.sh SOURCE_DIR CXX
set -eu
case $("$2" --version | head -n 1) in
  *clang*) echo "SKIPPED: clang does not say what it allocates" && exit 77 ;;
esac
cd "$1"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# allocated TURNS: the kilobytes.
allocated() {
  "$2" -std=c++20 -O1 -march=native -DTURNS="$1" -ftime-report -Iinclude -c tests/compile/turns.cpp \
    -o "$work/turns.o" 2>"$work/report"
  awk '$1 == "TOTAL" { print $NF ~ /G$/ ? $NF * 1048576 : $NF ~ /M$/ ? $NF * 1024 : $NF + 0 }' "$work/report"
}
few=$(allocated 6 "$2") many=$(allocated 1000 "$2")
echo "6 turns: $few kB allocated, 1000 turns: $many kB"
awk -v few="$few" -v many="$many" 'BEGIN { exit !(few > 0 && many <= 1.01 * few) }' || {
  echo "FAILED: a loop of 1000 turns costs more to compile than one of 6"
  exit 1
}
