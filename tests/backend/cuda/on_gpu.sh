#!/bin/sh
# Compiles tests with nvcc for the GPU of this machine, and runs them there: those of the target Cuda, and those of
# operators, which compare it with the CPU. `sh cmake/test.sh --cuda` calls it.
#   on_gpu.sh SOURCE_DIR [yes: in compute-sanitizer, too] [a part of a test's name]
set -u
root=$1 sanitize=${2:-no} name=${3:-}
PATH=$PATH:/usr/local/cuda/bin
command -v nvcc >/dev/null || { echo "nvcc is not installed. It is a part of the CUDA Toolkit, 13 or newer."; exit 2; }
nvidia-smi -L || { echo "There is no NVIDIA GPU here, or no driver for it."; exit 2; }
cores=${CMAKE_BUILD_PARALLEL_LEVEL:-$(nproc)}
build=$root/build/cuda
mkdir -p "$build"
export root build

cd "$root/tests" || exit 1
# These compare every result with the CPU's, or say themselves what they look at.
tests=$(find backend/cuda ops -name '*.cpp' | grep -F "$name" | sort)
[ -n "$tests" ] || { echo "No test of the target Cuda is called \`$name\`."; exit 2; }
echo "Compiling $(echo "$tests" | wc -l) tests with nvcc, and running them ..."
run='timeout 300'
[ "$sanitize" = no ] || run='timeout 900 compute-sanitizer --error-exitcode 9'
export run
# shellcheck disable=SC2016  # the inner shell expands these
echo "$tests" | xargs -P "$cores" -I{} sh -c '
  made=$build/$(echo {} | tr / .).bin
  rm -f "$made.passed"
  flags=$(sed -n "1,5s|^// flags:||p" {} | sed "s|-O[0-3]||g")
  nvcc -x cu -std=c++20 -O1 --expt-relaxed-constexpr --extended-lambda -fmad=false -ftz=true -arch=native \
    -Xcompiler=-march=native -DDOCTEST_CONFIG_IMPLEMENT_WITH_MAIN -DTENON_TARGET=cuda -I"$root/include" \
    -I"$root/tests" $flags -o "$made" {} >"$made.log" 2>&1 ||
    { echo "FAILED to compile {}"; grep -m 2 "error" "$made.log"; exit 0; }
  if $run "$made" >"$made.log" 2>&1; then touch "$made.passed"
  else
    echo "FAILED: {}"
    grep -E -m 8 "ERROR|error|differ|element|has no|========= [A-Z]" "$made.log" | sed "s/^/  /"
  fi'

count=0 passed=0
for test in $tests; do
  count=$((count + 1))
  [ ! -e "$build/$(echo "$test" | tr / .).bin.passed" ] || passed=$((passed + 1))
done
echo "$passed of $count tests passed on the GPU."
[ "$passed" -eq "$count" ]
