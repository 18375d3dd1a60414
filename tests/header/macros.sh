#!/bin/sh
# Macros of other libraries with names that Tenon uses do no harm in front of tenon.hpp, and are there behind it; before
# a single header they are an error in one sentence: `macros.sh [compiler]`.
set -u
include=$(cd "$(dirname "$0")/../../include" && pwd)
compiler=${1:-g++}
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
names=$(sed -n 's/^#undef //p' "$include/tenon/core/macros/macros_begin.hpp")
[ "$names" = "$(sed -n 's/^#pragma pop_macro("\(.*\)")/\1/p' "$include/tenon/core/macros/macros_end.hpp")" ] ||
  { echo "FAILED: macros_end.hpp gives back other macros than macros_begin.hpp sets aside"; exit 1; }

for name in $names; do echo "#define $name (a macro)"; done >"$work/macros.hpp"
{
  echo '#include "macros.hpp"'
  echo '#include <tenon/tenon.hpp>'
  for name in $names; do printf '#if !defined(%s)\n#error %s is gone\n#endif\n' "$name" "$name"; done
  cat <<'END_OF_PROGRAM'
struct Net : tenon::nn::Cell<Net> {
  tenon::nn::Dense<8, 2> dense;
  constexpr auto construct(auto x) const { return dense(x); }
};
int main() {
  Net net;
  tenon::Model model{net, tenon::nn::MSELoss{}, tenon::nn::SGD{.learning_rate = 0.1f}};
  net(tenon::Tensor<float, tenon::Shape<tenon::dyn, 8>>::full(1.0f, 2));
}
END_OF_PROGRAM
} >"$work/program.cpp"
"$compiler" -std=c++20 -I"$include" -fsyntax-only "$work/program.cpp" ||
  { echo "FAILED: tenon.hpp behind macros with its names"; exit 1; }

for name in $names; do
  printf '#define %s (a macro)\n#include <tenon/core/shape.hpp>\n' "$name" >"$work/one.cpp"
  "$compiler" -std=c++20 -I"$include" -fsyntax-only "$work/one.cpp" >"$work/said" 2>&1 &&
    { echo "FAILED: a header of Tenon takes the macro $name without a word"; exit 1; }
  grep -q 'error.*A macro has a name that Tenon uses' "$work/said" ||
    { cat "$work/said"; echo "FAILED: the macro $name is not named as the cause"; exit 1; }
done
echo "$(echo $names | wc -w) macros with names of Tenon: set aside by tenon.hpp, refused by its headers."
