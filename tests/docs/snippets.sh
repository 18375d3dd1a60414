#!/bin/sh
# Every C++ block of README.md and the pages in docs/ is compiled, and programs among them are run. The blocks of a page
# in docs/ are one program: what it returns is looked at. (tests/docs/contributing.sh follows docs/contributing/, and
# tests/consumer/page.sh the other blocks of docs/consuming.md.)
#   snippets.sh SOURCE_DIR CXX [LIBRARY OPTION...]   the compiled part, and its options
set -eu
source=$1
cxx=$2
part=${3:-}
[ $# -lt 3 ] || shift
shift 2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Writes block N of a file's C++ blocks to $work/NAME-N.
blocks() {
  awk -v out="$work/$(basename "$1" .md)" '
    /^```cpp$/ { inside = 1; ++n; file = out "-" n; next }
    /^```$/ { if (inside) { inside = 0; close(file) } next }
    inside { print > file }
    END { print n + 0 }' "$source/$1"
}
echo "README.md: $(blocks README.md) blocks"

# README: block 1 is a program. It trains, so its output is looked at.
mv "$work/README-1" "$work/readme.cpp"
"$cxx" -std=c++20 -O2 -march=native -Wall -Wextra -Werror -I"$source/include" "$work/readme.cpp" -o "$work/readme" \
  -lpthread
"$work/readme" | tail -n 1 | tee "$work/readme.txt"
awk '$1 == "accuracy" && $2 > 0.95 { good = 1 } END { exit !good }' "$work/readme.txt"

# Pages of docs: all blocks of a page, in their order. What they run is short: a compiler that optimizes nothing takes
# two thirds of the time, and half of that where tenon.hpp is parsed once for all pages and its definitions are in the
# compiled part. Tools that observe a program have a part of their own, so their pages do without.
flags='-std=c++20 -O0 -Wall -Wextra -Werror'
if [ -n "$part" ]; then
  printf '#include <tenon/tenon.hpp>\n' >"$work/all.hpp"
  # shellcheck disable=SC2086  # several words
  "$cxx" $flags "$@" -I"$source/include" -x c++-header "$work/all.hpp" -o "$work/all.hpp.gch"
fi
for page in "$source"/docs/*.md; do
  name=$(basename "$page" .md)
  [ "$(blocks "docs/$name.md")" -gt 0 ] || continue
  echo "docs/$name.md"
  ls "$work/$name"-* | sort -t - -k 2 -n | xargs cat >"$work/$name.cpp"
  libraries=$(sed -n 's|^// linked with ||p' "$work/$name.cpp")
  [ -z "$libraries" ] || "$cxx" -std=c++20 -E -I"$source/include" "$work/$name.cpp" >"$work/$name.txt" 2>&1 ||
    { echo "SKIPPED: docs/$name.md: $libraries is not installed"; continue; }
  if [ -z "$part" ] || grep -Eq '<tenon/debug/|^#define' "$work/$name.cpp" ||
    ! grep -Eq '<tenon/(tenon|more)[.]hpp>' "$work/$name.cpp"
  then
    # shellcheck disable=SC2086  # several words
    "$cxx" $flags -I"$source/include" "$work/$name.cpp" -o "$work/$name" -lpthread $libraries
  else
    # shellcheck disable=SC2086  # several words
    "$cxx" $flags "$@" -I"$source/include" -include "$work/all.hpp" -Winvalid-pch "$work/$name.cpp" \
      -o "$work/$name" "$part" -lz -lpthread $libraries
  fi
  (cd "$work" && "./$name" >"$name.txt") || { cat "$work/$name.txt"; echo "docs/$name.md: its program fails"; exit 1; }
done
