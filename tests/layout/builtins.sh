#!/bin/sh
# Headers use what compilers promise: `builtins.sh [project root]`. The builtins of an instruction set stand behind the
# intrinsics of one compiler's one version (clang 22 dropped __builtin_ia32_vcvtph2ps256), and the headers of intrinsics
# cost a quarter of a second to parse. Vectors of the language, __builtin_convertvector, and __builtin_shufflevector do
# most; the rest is an asm with the instruction's name (core/simd/simd.hpp says which).
# Numbers of operators are compared in `is` alone: graph/ir/step.hpp says why. And a program without RTTI compiles: what
# asks for a dynamic type is a template that only its caller instantiates.
set -u
root=$(cd "${1:-$(dirname "$0")/../..}" && pwd) || exit 1
cd "$root" || exit 1

find include compiled debugger \( -name '*.hpp' -o -name '*.cpp' -o -name '*.cuh' \) 2>/dev/null | LC_ALL=C sort |
  xargs awk '
BEGIN {
  # g++ alone, whose builtins for -mfma and AVX-512 have not changed since it has them; clang has
  # __builtin_elementwise_fma
  fused = "vfmaddps vfmaddpd vfmaddps256 vfmaddpd256 vfmaddps512_mask vfmaddpd512_mask"
  count = split(fused, name, " ")
  for (k = 1; k <= count; ++k) allowed["include/tenon/core/simd/simd.hpp", "__builtin_ia32_" name[k]] = 1
  allowed["include/tenon/core/simd/simd.hpp", "__builtin_aarch64_fmav4sf"] = 1
  allowed["include/tenon/core/simd/simd.hpp", "__builtin_aarch64_fmav2df"] = 1
  casts["include/tenon/nn/metric/metric_set.hpp"] = casts["include/tenon/train/callback/any_callback.hpp"] = 1
  casts["include/tenon/backend/cuda/device.hpp"] = 1  # on the emulator of the tests
  compares["include/tenon/graph/ir/node.hpp"] = compares["include/tenon/graph/ir/step.hpp"] = 1
}
function fault(text) { printf "%s:%d: %s\n", FILENAME, FNR, text; ++faults }
FNR == 1 { ++files }
/^[ \t]*\/\// { next }
/^[ \t]*#[ \t]*include[ \t]*[<"]([a-z0-9]*intrin|arm_[a-z0-9]*)\.h/ {
  fault("a header of intrinsics: " $0 "; core/simd/simd.hpp is the gateway")
}
{
  rest = $0
  while (match(rest, /__builtin_(ia32|aarch64|neon|arm)_[a-z0-9_]*/)) {
    found = substr(rest, RSTART, RLENGTH)
    rest = substr(rest, RSTART + RLENGTH)
    if ((FILENAME, found) in allowed) used[FILENAME, found] = 1
    else fault(found " is promised by no compiler: see tests/layout/builtins.sh")
  }
}
/(dynamic_cast<|typeid\()/ && !(FILENAME in casts) { fault("a dynamic type, which -fno-rtti refuses") }
/[=!]= *operator_id</ && !(FILENAME in compares) { fault("write is<Op>(step), without a comparison of operator_id") }
END {
  if (!files) { print "no headers found"; exit 1 }
  if (("include/tenon/core/simd/simd.hpp", "__builtin_ia32_vfmaddps") in used)  # a whole tree
    for (key in allowed)
      if (!(key in used)) {
        split(key, part, SUBSEP)
        print "tests/layout/builtins.sh allows " part[2] ", which is not in use: take it off the list"
        ++faults
      }
  if (faults) exit 1
  print files " files: no builtins of one compiler but those of g++ for fused multiply-adds."
}'
