#!/bin/sh
# What tests/compilers.sh asks of one compiler, in a checkout of its own (it builds there):
#   check.sh COMPILER FLAGS all|some PRESET
#   1 both commands of README.md: quickstart.sh for an epoch, and tests of each area by test.sh's build
#   2 examples/06_mnist.cpp as in a project with strict warnings, which are errors; the seconds that this takes
#   3 the bars of mistakes (tests/error/run.sh --bars): a choice of them, or all
#   4 the bits of a training (tests/odr/bits)
# The last line is a row: compiler | 1 | number of 3 | 4 | warnings of 2 | seconds of 2
set -u
cd "$(dirname "$0")/../.." || exit 1
compiler=$1 flags=$2 chosen_mistakes=$3 preset=$4
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
command -v "$compiler" >/dev/null || { echo "FAILED: $compiler is not here"; exit 1; }
# Scripts and CMake take one word. The name begins as the compiler's: its family is read there.
CXX=$work/$compiler
printf '#!/bin/sh\nexec %s %s "$@"\n' "$(command -v "$compiler")" "$flags" >"$CXX" && chmod +x "$CXX" || exit 1
PATH=$work:$PATH
export CXX PATH
version="${compiler%-*} $("$CXX" -dumpfullversion 2>/dev/null || "$CXX" -dumpversion)${flags:+ $flags}"
faults=0
failed() {
  tail -n 40 "$work/log"
  echo "FAILED: $version: $1"
  faults=$((faults + 1))
}
# With the name of the step and the seconds that it took.
step() {
  begin=$(date +%s) what=$1
  shift
  if "$@" >"$work/log" 2>&1; then echo "$version: $what, $(($(date +%s) - begin)) s"; return 0; fi
  failed "$what"
  return 1
}

chosen='core/reflect core/simd/simd core/simd/simd_half core/float/exact io/safetensors ops/softmax nn/layer/layers'
tests() {
  sh cmake/test.sh --preset "$preset" --list >/dev/null || return 1  # installs what is missing, and configures
  # shellcheck disable=SC2046  # several words
  cmake --build "build/$preset" --target $(for name in $chosen; do echo "test/$name" | tr / .; done) || return 1
  ctest --test-dir "build/$preset" --output-on-failure --no-tests=error -R "^($(echo "$chosen" | tr ' ' '|'))\$"
}
works=yes
step "quickstart.sh" sh cmake/quickstart.sh --epochs 1 || works=no
grep -h 'accuracy' "$work/log" | tail -n 1
step "tests ($chosen)" tests || works=no

seconds=-
strict() {
  # shellcheck disable=SC2046  # two words, of user and system, of the processes below
  set -- $( ("$CXX" -std=c++20 -O2 -march=native -Iinclude -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror \
    -c examples/06_mnist.cpp -o "$work/mnist.o" >&2 || echo failed; times) | tail -n 1)
  seconds=$(echo "$1 $2" | awk '{ split($1, u, /[ms]/); split($2, s, /[ms]/)
    printf "%.0f", 60 * (u[1] + s[1]) + u[2] + s[2] }')
  [ -s "$work/mnist.o" ]
}
warnings=0
step "examples/06_mnist.cpp without warnings" strict || warnings=$(grep -c 'error:\|warning:' "$work/log")

sentences=-
mistakes() {
  set --
  [ "$chosen_mistakes" = all ] ||
    set -- tests/error/table/images.txt tests/error/cell/typo.cpp tests/error/core/tensor_extents.cpp \
      tests/error/model/column_count.cpp tests/error/model/metric_prediction.cpp tests/error/shape/channels.cpp \
      tests/error/shape/dense_size.cpp tests/error/shape/infix.cpp tests/error/shape/nested.cpp \
      tests/error/shape/no_flatten.cpp
  sh tests/error/precompile.sh "$work/once" "$compiler" &&
    sh tests/error/run.sh --precompiled "$work/once" --compiler "$compiler" --bars "$@"
}
if step "sentences of mistakes" mistakes; then sentences=$(sed -n 's/.*: \([0-9]*\) mistakes,.*/\1/p' "$work/log"); fi
tail -n 1 "$work/log"

bits() {
  "$CXX" -std=c++20 -O2 -march=native -Iinclude tests/odr/bits/program.cpp -o "$work/bits" -lpthread &&
    "$work/bits" >"$work/hash" && grep -x '[0-9a-f]\{16\} [0-9a-f]\{16\}' "$work/hash"
}
: >"$work/hash"
step "bits" bits
echo "| $version | $works | $sentences | $(sed 's/.* //' "$work/hash") | $warnings | $seconds |"
[ $faults -eq 0 ]
