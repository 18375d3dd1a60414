#!/bin/sh
# A training step on a target that lacks the kernel of one operator is refused in one sentence that names it, whichever
# operator that is: `lacking.sh short|long SOURCE_DIR`. `long` takes each operator of the step in turn. A target that
# has optional members without those that belong to them is refused, too.
set -eu
length=$1
cd "$2"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
operators='ReluGrad BatchNorm SumTo ApplyAdam'
[ "$length" = short ] || operators="$operators Conv2d Conv2dBackwardWeight Relu MaxPool2d MaxPool2dGrad
  BatchNormStatistics BatchNormSums BatchNormInputGrad UpdateMoving MatMul Add SoftmaxCrossEntropy
  SoftmaxCrossEntropyGrad"
compile() {
  g++ -std=c++20 -O0 -march=native -fsyntax-only "-DTENON_TARGET=${2:-lacking}" "-DTENON_TEST_LACKS=$1" -Iinclude \
    -Itests/support/targets -x c++ tests/target/lacking.hpp 2>"$work/report"
}
failed=0
for operator in $operators; do
  if compile "$operator"; then
    echo "without Kernel<Lacking, ops::$operator> it compiles"
    failed=1
  elif [ "$(grep -c 'error: ' "$work/report")" -ne 1 ] ||
      ! grep -q " has no kernel on Lacking: write template <> struct Kernel<tenon::Lacking, ops::$operator> " \
        "$work/report"; then
    echo "without Kernel<Lacking, ops::$operator> there is not one sentence about it, but:"
    cat "$work/report"
    failed=1
  fi
done
compile NoOperatorOfThisName || { echo "with all kernels it does not compile:"; cat "$work/report"; failed=1; }
if compile None incomplete; then echo "an incomplete target compiles"; failed=1; fi
for member in 'copy_beside() needs make_event()' 'allocate_pinned() needs free_pinned()' 'devices() needs use_device()'
do
  grep -q "a target with $member" "$work/report" || { echo "nothing says: a target with $member"; failed=1; }
done
exit $failed
