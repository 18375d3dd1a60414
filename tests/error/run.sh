#!/bin/sh
# Compiles mistakes, and checks that the compiler explains each in one sentence and few lines:
#   run.sh [--precompiled DIR] [--compiler g++|clang++-19|nvcc|all] [mistake.cpp ...]
# (default: g++, every mistake in this folder; what precompile.sh wrote in DIR spares g++ the parsing)
# A mistake begins with   // expects: the sentence that must appear       (read.awk says how it is found)
#                         // lines: g++ 8, clang 9, nvcc 8      (optional; the longest output allowed, these by default)
# and X.fixed.cpp beside X.cpp is the cure, which must compile. Exit status 77: none of the compilers is installed.
set -u
here=$(cd "$(dirname "$0")" && pwd)
include=$here/../../include
output=$(mktemp) || exit 1
trap 'rm -f "$output"' EXIT
LC_ALL=C.UTF-8   # so that g++ quotes with other marks than those of C++
export LC_ALL
failed=0
ran=0

# compile COMPILER FILE: writes to $output what a user would see.
compile() {
  case $1 in
    nvcc) nvcc -std=c++20 --expt-relaxed-constexpr -I"$include" -c -x cu -o /dev/null -Xcompiler -fmax-errors=1 "$2" \
      >"$output" 2>&1 ;;
    clang*) "$1" -std=c++20 -I"$include" -fsyntax-only -ferror-limit=1 "$2" >"$output" 2>&1 ;;
    *) "$1" -std=c++20 ${precompiled:+"-I$precompiled"} -I"$include" -fsyntax-only -fmax-errors=1 "$2" \
      >"$output" 2>&1 ;;
  esac
}

# budget COMPILER FILE: the number of lines allowed.
budget() {
  case $1 in clang*) family=clang usual=9 ;; nvcc) family=nvcc usual=8 ;; *) family='g++' usual=8 ;; esac
  own=$(sed -n '1,5s|^// lines:||p' "$2" | tr ',' '\n' | awk -v family="$family" '$1 == family { print $2 }')
  echo "${own:-$usual}"
}

row() { printf '%-11s %-36s %5s of %-3s %s\n' "$1" "$2" "$3" "$4" "$5"; }

fail() {
  row "$1" "$name" "$lines" "$allowed" "FAILED: $2"
  sed 's/^/    | /' "$output" | cut -c1-400
  failed=1
}

check() {
  name=$(basename "$2" .cpp)
  sentence=$(sed -n '1s|^// expects: *||p' "$2")
  fixed=${2%.cpp}.fixed.cpp
  lines=-
  allowed=$(budget "$1" "$2")
  : >"$output"
  ran=1
  if [ -z "$sentence" ]; then fail "$1" "the first line must be \`// expects: sentence\`"; return; fi
  if [ ! -f "$fixed" ]; then fail "$1" "there is no $(basename "$fixed")"; return; fi

  if compile "$1" "$2"; then fail "$1" "it compiles"; return; fi
  lines=$(wc -l <"$output")
  if ! awk -v sentence="$(printf '%s' "$sentence" | sed 's/\\/\\\\/g')" -f "$here/read.awk" "$output"; then
    fail "$1" "the compiler does not say \`$sentence\`"
    return
  fi
  if [ "$lines" -gt "$allowed" ]; then fail "$1" "too many lines"; return; fi
  if ! compile "$1" "$fixed"; then fail "$1" "$(basename "$fixed") does not compile"; return; fi
  row "$1" "$name" "$lines" "$allowed" ok
}

precompiled=
if [ "${1:-}" = --precompiled ]; then
  header=${2:?--precompiled needs a folder}/tenon/tenon.hpp.gch
  # g++ would take an old one, too
  [ ! -e "$header" ] || [ -n "$(find "$include" -newer "$header" -name '*.hpp' | head -n 1)" ] || precompiled=$2
  shift 2
fi
compilers=g++
if [ "${1:-}" = --compiler ]; then
  compilers=${2:?--compiler needs a name}
  shift 2
  [ "$compilers" != all ] || compilers='g++ clang++-19 nvcc'
fi
if [ $# -eq 0 ]; then
  set -- $(find "$here" -name '*.cpp' ! -name '*.fixed.cpp' ! -path '*/selftest/*' | sort)
  [ $# -gt 0 ] || { echo "SKIPPED: there is no mistake in tests/error"; exit 77; }
fi

row compiler mistake lines max result
for compiler in $compilers; do
  command -v "$compiler" >/dev/null || { echo "SKIPPED: $compiler is not installed"; continue; }
  for file; do check "$compiler" "$file"; done
done
[ $ran -eq 1 ] || exit 77
exit $failed
