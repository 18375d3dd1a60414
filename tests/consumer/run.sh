#!/bin/sh
# Builds and runs the project of this folder with Tenon from `find_package`, `add_subdirectory`, or `fetch_content`:
# `run.sh WAY [cmake [compiler]]`. Writes to the current folder. Exit status 77: the compiler is not here.
set -u
here=$(cd "$(dirname "$0")" && pwd)
source=$(cd "$here/../.." && pwd)
way=$1
cmake=${2:-cmake}
compiler=${3:-g++}
command -v "$compiler" >/dev/null || { echo "SKIPPED: $compiler is not installed"; exit 77; }
work=$PWD/$way
rm -rf "$work" && mkdir -p "$work" || exit 1

quietly() {
  "$@" >"$work/log" 2>&1 || { cat "$work/log"; echo "FAILED: $*"; exit 1; }
}
configure() {
  "$cmake" -S "$here" -B "$work/build" -DCMAKE_CXX_COMPILER="$compiler" -DWAY="$way" -DTENON_SOURCE="$source" \
    -DCMAKE_PREFIX_PATH="$work/prefix" "$@"
}

if [ "$way" = find_package ]; then
  quietly "$cmake" -S "$source" -B "$work/tenon" -DCMAKE_CXX_COMPILER="$compiler" -DTENON_BUILD_TESTS=OFF \
    -DTENON_BUILD_EXAMPLES=OFF
  quietly "$cmake" --install "$work/tenon" --prefix "$work/elsewhere"
  mv "$work/elsewhere" "$work/prefix"   # a package must bear being moved
  if grep -rn -e "$source" -e "$work" "$work/prefix"; then
    echo "FAILED: the installed files name folders of this machine"
    exit 1
  fi
  if grep -rn -e '-march' "$work/prefix/share/cmake"; then echo "FAILED: the exported target carries -march"; exit 1; fi

fi

# refused SENTENCE OPTION...: configures with the options, which must end with the sentence.
refused() {
  sentence=$1
  shift
  if configure "$@" >"$work/log" 2>&1; then echo "FAILED: accepted: $*"; exit 1; fi
  tr -s ' \n' ' ' <"$work/log" | grep -qF "$sentence" ||
    { cat "$work/log"; echo "FAILED: $*: the message does not say: $sentence"; exit 1; }
}
no_zlib=-DCMAKE_DISABLE_FIND_PACKAGE_ZLIB=ON
no_xtensor=-DCMAKE_DISABLE_FIND_PACKAGE_xtensor=ON
refused 'tenon has no component `teleport`. Its components: zlib, xtensor, protozero, openssl, png, json, jpeg,' \
  -DCOMPONENTS=teleport
refused "tenon's component \`zlib\` needs zlib, which is not found here: install it" -DCOMPONENTS=zlib $no_zlib
refused "tenon's component \`xtensor\` needs xtensor, which is not found here: install it" -DCOMPONENTS=xtensor \
  $no_xtensor
refused "tenon's component \`protozero\` needs protozero, which is not found here: install it" -DCOMPONENTS=protozero \
  -DCMAKE_DISABLE_FIND_PACKAGE_protozero=ON
refused "tenon's component \`openssl\` needs OpenSSL, which is not found here: install it" -DCOMPONENTS=openssl \
  -DCMAKE_DISABLE_FIND_PACKAGE_OpenSSL=ON
refused "tenon's component \`json\` needs nlohmann_json, which is not found here: install it" -DCOMPONENTS=json \
  -DCMAKE_DISABLE_FIND_PACKAGE_nlohmann_json=ON
if [ "$way" = find_package ]; then
  for version in 0.0 0.2 1.0 0.1.99; do
    refused 'compatible with requested version' -DVERSION=$version
  done
fi
rm -rf "$work/build"

# Advice to one who builds without optimization and nowhere says so; none to others.
advice='compiled without optimization'
quietly configure -DCMAKE_BUILD_TYPE=
[ "$(grep -c "$advice" "$work/log")" -eq 1 ] || { cat "$work/log"; echo "FAILED: no advice to optimize"; exit 1; }
for options in -DCMAKE_BUILD_TYPE=Release -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_FLAGS=-Og -DOPTIONS=-O2; do
  quietly configure -DCMAKE_BUILD_TYPE= -DCMAKE_CXX_FLAGS= -DOPTIONS= "$options"
  if grep "$advice" "$work/log"; then echo "FAILED: advice to optimize, with $options"; exit 1; fi
done
rm -rf "$work/build"

# A program that links tenon::tenon has the compiled part, one for both programs here. Nothing of it is left where the
# project wants headers, or where the flags of its sources are not known.
own='"file": ".*/tests/consumer/main.cpp"'
compiled() { grep -B 1 "$own" "$work/build/compile_commands.json" | grep -c -e ' -DTENON_COMPILED '; }
parts() { grep -c '"file": ".*/compiled/tenon.cpp"' "$work/build/compile_commands.json"; }
expect_parts() {
  [ "$(compiled)/$(parts)" = "$1" ] || { echo "FAILED: programs/parts $(compiled)/$(parts), not $1, with: $2"; exit 1; }
}
for options in -DTENON_HEADER_ONLY=ON -DSOURCE_OPTIONS=-mavx2; do
  quietly configure "$options"
  expect_parts 0/0 "$options"
  rm -rf "$work/build"
done
quietly configure "-DDEFINITIONS=TENON_TARGET=reference"
expect_parts 2/1 "a second target"
[ "$(grep -c -e '-DTENON_TARGET=reference.* -c .*/compiled/tenon.cpp"' "$work/build/compile_commands.json")" -eq 1 ] ||
  { echo "FAILED: the part for a second target is compiled without it"; exit 1; }
rm -rf "$work/build"

# With g++ a program whose sources include tenon.hpp, and define nothing before, also in no header of the project, reads
# it precompiled.
printf '#include <cstdio>\n#include <tenon/tenon.hpp>\nint main() {}\n' >"$work/includes.cpp"
printf '#define OWN\n#include <tenon/tenon.hpp>\nint main() {}\n' >"$work/defines.cpp"
printf '#include "own.hpp"\n#include <tenon/tenon.hpp>\nint main() {}\n' >"$work/quotes.cpp"
quietly configure "-DPROBES=$work/includes.cpp;$work/defines.cpp;$work/quotes.cpp"
precompiled() {
  sed -n 's/.*-include [^ ]*cmake_pch.* -c [^ ]*\/\([a-z]*\.cpp\)".*/\1/p' "$work/build/compile_commands.json"
}
expected=includes.cpp
case $compiler in *clang*) expected= ;; esac
[ "$(precompiled)" = "$expected" ] || { echo "FAILED: a precompiled header is read by: $(precompiled)"; exit 1; }
rm -rf "$work/build"

quietly configure
expect_parts 2/1 "no options"
if grep -n -e '-march' -e '-fsanitize' -e '-Wall' "$work/build/compile_commands.json"; then
  echo "FAILED: flags are forced on the consumer"
  exit 1
fi
if ! grep -q 'max-errors=1\|error-limit=1' "$work/build/compile_commands.json"; then
  echo "FAILED: tenon::diagnostics adds no flag"
  exit 1
fi
quietly "$cmake" --build "$work/build"
quietly "$work/build/consumer"
if command -v readelf >/dev/null; then
  script=$(readelf -p .debug_gdb_scripts "$work/build/consumer_with_advice" | sed -n 's/.*\] *//p')
  [ -f "$script" ] || { echo "FAILED: tenon::debugger names \`$script\`, which is no file"; exit 1; }
fi
programs=$(find "$work/build" -type f -perm -u+x ! -path '*/CMakeFiles/*' ! -name '*.so*' | wc -l)
[ "$programs" -eq 2 ] || { echo "FAILED: $programs programs were built, not the two of the consumer"; exit 1; }
if (cd "$work/build" && ctest -N 2>/dev/null) | grep -q 'Total Tests: [1-9]'; then
  echo "FAILED: our tests appear in the consumer's project"
  exit 1
fi
echo "A project builds and runs with Tenon from $way."
