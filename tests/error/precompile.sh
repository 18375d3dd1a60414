#!/bin/sh
# Parses tenon.hpp once for all mistakes that g++ looks at: `precompile.sh DIR` writes DIR/tenon/tenon.hpp.gch, which
# g++ -DTENON_COMPILED -IDIR takes in place of the header. Without the definitions, of which no mistake is made, it is
# read in half the time. run.sh leaves it alone when a header is newer.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
include=$(cd "$here/../../include" && pwd)
result=$1/tenon/tenon.hpp.gch
command -v g++ >/dev/null || { echo "SKIPPED: g++ is not installed"; exit 77; }
if [ -e "$result" ] && [ -z "$(find "$include" -newer "$result" -name '*.hpp' | head -n 1)" ]; then
  echo "tenon.hpp has not changed."
  exit 0
fi
mkdir -p "$1/tenon"
rm -f "$result"
printf '#include "%s/tenon/tenon.hpp"\n' "$include" >"$1/all.hpp"
g++ -std=c++20 -DTENON_COMPILED -I"$include" -x c++-header "$1/all.hpp" -o "$result"
echo "tenon.hpp is precompiled."
