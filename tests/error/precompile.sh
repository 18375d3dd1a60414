#!/bin/sh
# Parses tenon.hpp once for all mistakes that a compiler looks at: `precompile.sh DIR [COMPILER]`. g++ (the default)
# takes DIR/tenon/tenon.hpp.gch with -DTENON_COMPILED -IDIR in place of the header, clang takes DIR/tenon.pch with
# -include-pch. Without the definitions, of which no mistake is made, it is read in half the time. run.sh leaves it
# alone when a header is newer.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
include=$(cd "$here/../../include" && pwd)
compiler=${2:-g++}
case $compiler in
  clang*) result=$1/tenon.pch header=$include/tenon/tenon.hpp ;;
  *) result=$1/tenon/tenon.hpp.gch header=$1/all.hpp ;;
esac
command -v "$compiler" >/dev/null || { echo "SKIPPED: $compiler is not installed"; exit 77; }
if [ -e "$result" ] && [ -z "$(find "$include" -newer "$result" -name '*.hpp' | head -n 1)" ]; then
  echo "tenon.hpp has not changed."
  exit 0
fi
mkdir -p "$1/tenon"
rm -f "$result"
# g++ says `#pragma once in main file` of a header itself.
printf '#include "%s/tenon/tenon.hpp"\n' "$include" >"$1/all.hpp"
"$compiler" -std=c++20 -DTENON_COMPILED -I"$include" -x c++-header "$header" -o "$result"
echo "tenon.hpp is precompiled."
