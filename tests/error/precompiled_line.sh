#!/bin/sh
# clang with a precompiled header that was found by a relative path: a sentence names the user's line, not Tenon's own.
# Exit status 77: clang is not installed.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
clang=${1:-clang++-19}
command -v "$clang" >/dev/null || { echo "SKIPPED: $clang is not installed"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/build"
ln -s "$here/../../include" "$work/include"
cd "$work/build"
"$clang" -std=c++20 -I../include -x c++-header ../include/tenon/tenon.hpp -o tenon.pch
sed 's/nn::BatchNorm2d<8>/nn::BatchNorm2d<16>/' "$here/table/network.cpp" >mistake.cpp
"$clang" -std=c++20 -I../include -include-pch tenon.pch -fsyntax-only -ferror-limit=1 mistake.cpp >said 2>&1 || true
if grep -q '(mistake.cpp:25)' said; then echo "the line is the user's"; exit; fi
cut -c1-400 said
echo "FAILED: the sentence does not name mistake.cpp:25"
exit 1
