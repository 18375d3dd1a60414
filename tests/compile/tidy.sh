#!/bin/sh
# clang-tidy finds nothing in the examples and the headers that they include; .clang-tidy says what it looks for.
#   tidy.sh SOURCE_DIR
set -eu
tidy=$(command -v clang-tidy-19 || command -v clang-tidy) ||
  { echo "SKIPPED: clang-tidy is not installed (apt-get install clang-tidy-19)"; exit 77; }
cd "$1"
failed=0
for program in 02_gradient 05_own_operator 06_mnist; do
  found=$("$tidy" --quiet "examples/$program.cpp" -- -std=c++20 -Iinclude 2>/dev/null) || failed=1
  [ -z "$found" ] || { printf '%s\n' "$found"; failed=1; }
done
exit $failed
