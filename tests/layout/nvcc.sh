#!/bin/sh
# In kernels of the target Cuda a loop below `if constexpr` or `else` stands in braces: `nvcc.sh [project root]`.
# nvcc 13 drops what follows a statement that it discards, if that has a #pragma unroll and no braces: the kernel
# stores nothing.
set -u
cd "${1:-$(dirname "$0")/../..}" || exit 1
find include/tenon/backend/cuda -name '*.hpp' | LC_ALL=C sort | xargs awk '
FNR == 1 { open = 0 }
open && /^(#pragma unroll|[ \t]*for \()/ {
  print FILENAME ":" FNR - 1 ": put the loop below this line in braces"
  faults = 1
}
{ open = /(^|[^a-z])if constexpr \(.*\)$/ || /(^|[ \t}])else$/ }
END { exit faults }' || { echo "FAILED: nvcc needs these braces."; exit 1; }
echo "Loops below \`if constexpr\` stand in braces."
