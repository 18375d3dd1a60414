#!/bin/sh
# Builds and runs the project of this folder with Tenon from `find_package`, `add_subdirectory`, or `fetch_content`:
# `run.sh WAY [cmake [compiler]]`. Writes to the current folder.
set -u
here=$(cd "$(dirname "$0")" && pwd)
source=$(cd "$here/../.." && pwd)
way=$1
cmake=${2:-cmake}
compiler=${3:-g++}
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

  if configure -DCOMPONENT=teleport >"$work/log" 2>&1; then echo "FAILED: an unknown component was accepted"; exit 1; fi
  tr -s ' \n' ' ' <"$work/log" | grep -q 'has no component `teleport`' ||
    { cat "$work/log"; echo "FAILED: the message does not name the component"; exit 1; }
  rm -rf "$work/build"
fi

quietly configure
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
programs=$(find "$work/build" -type f -perm -u+x ! -path '*/CMakeFiles/*' ! -name '*.so*' | wc -l)
[ "$programs" -eq 2 ] || { echo "FAILED: $programs programs were built, not the two of the consumer"; exit 1; }
if (cd "$work/build" && ctest -N 2>/dev/null) | grep -q 'Total Tests: [1-9]'; then
  echo "FAILED: our tests appear in the consumer's project"
  exit 1
fi
echo "A project builds and runs with Tenon from $way."
