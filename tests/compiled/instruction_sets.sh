#!/bin/sh
# The sources of the compiled part compile for instruction sets that this machine's build does not choose:
#   instruction_sets.sh SOURCE_DIR short|long
set -u
source=$1
faults=0
check() {
  for unit in "$source"/compiled/*.cpp; do
    # shellcheck disable=SC2068  # several words
    $@ -std=c++20 -O1 -fsyntax-only -I"$source/include" "$unit" || { echo "FAILED: $*: $(basename "$unit")"; faults=1; }
  done
}
if [ "$(uname -m)" != x86_64 ]; then echo "SKIPPED: the sets of flags are those of x86-64"; exit 77; fi
check g++ -march=x86-64
[ "$2" = long ] || exit $faults
for set in x86-64-v2 x86-64-v3 x86-64-v4; do check g++ -march=$set; done
for compiler in clang++-19 aarch64-linux-gnu-g++; do
  if command -v $compiler >/dev/null; then check $compiler; else echo "$compiler is not installed"; fi
done
exit $faults
