#!/bin/sh
# Compiles the cures of all mistakes (X.fixed.cpp), as run.sh does for single ones: `cures.sh DIR`, where precompile.sh
# wrote. Those that include the same headers are one unit, each in a namespace: they share what they instantiate.
set -u
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
precompiled=${1:?cures.sh needs the folder of precompile.sh}

all=0
for cure in $(find "$here" -name '*.fixed.cpp' ! -path '*/selftest/*' | sort); do
  all=$((all + 1))
  grep '^#' "$cure" >"$work/directives"
  unit=$work/$(cksum <"$work/directives" | tr ' ' _).cpp
  [ -e "$unit" ] || cp "$work/directives" "$unit"
  { printf 'namespace cure_%s {\n#line 1 "%s"\n' $all "$cure" && sed 's/^#include.*//' "$cure" && echo '}'; } >>"$unit"
done
for unit in "$work"/*.cpp; do
  g++ -std=c++20 -DTENON_COMPILED -I"$precompiled" -I"$here/../../include" -fsyntax-only -w "$unit" ||
    { echo "FAILED: a cure does not compile"; exit 1; }
done
echo "$all cures compile."
