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
echo "Compiling $(echo "$tests" | wc -l) tests with nvcc ..."
echo "$tests" | xargs -P "$cores" -I{} sh -c '
  made=$build/$(echo {} | tr / .).bin
  nvcc -x cu -std=c++20 -O1 --expt-relaxed-constexpr --extended-lambda -fmad=false -ftz=true -arch=native \
    -Xcompiler=-march=native -DDOCTEST_CONFIG_IMPLEMENT_WITH_MAIN -DTENON_TARGET=cuda -I"$root/include" \
    -I"$root/tests" -o "$made" {} >"$made.log" 2>&1 && exit
  rm -f "$made"
  echo "FAILED to compile {}"
  grep -m 2 "error" "$made.log"'

passed=0 failed=0
for test in $tests; do
  made=$build/$(echo "$test" | tr / .).bin
  [ -x "$made" ] || { failed=$((failed + 1)); continue; }
  run="timeout 120 $made"
  [ "$sanitize" = no ] || run="timeout 600 compute-sanitizer --error-exitcode 9 $made"
  if $run >"$made.out" 2>&1; then passed=$((passed + 1))
  else
    failed=$((failed + 1))
    echo "FAILED: $test"
    grep -E -m 4 'ERROR|error|differ|=========' "$made.out" | sed 's/^/  /'
  fi
done
echo "$passed of $((passed + failed)) tests passed on the GPU."
[ "$failed" -eq 0 ]
