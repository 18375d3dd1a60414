#!/bin/sh
# The table of docs/kernels.md is that of the headers: a row for each operator of ops/ and nn/, the dtypes that its
# docstring states, whether it has a derivative, and which targets have a kernel for it, written by a program with all
# of them. No operator of the CPU may be missing on the GPU.
#   kernels.sh [project root [CXX]]            compares the page with the headers
#   kernels.sh [project root [CXX]] --write    writes it anew
set -eu
root=$(cd "${1:-$(dirname "$0")/../..}" && pwd) || exit 1
cxx=${2:-g++}
[ "$cxx" != --write ] || cxx=g++
last=
for last; do :; done
page=$root/docs/kernels.md
work=$(mktemp -d)
trap 'rm -r "$work"' EXIT

# "header operator" of each class that is derived from a base with its own name and a text in quotes
# (those among ranks have the CPU's alone, docs/distributed.md)
(cd "$root/include/tenon" && grep --exclude-dir=collective -roE \
  '^struct \w+ : [A-Za-z0-9:]+<\w+(<\w+>)?, "\w+"' ops nn) |
  sed -nE 's/^(.*):struct (\w+) : [A-Za-z0-9:]+<\2(<\w+>)?, .*/\1 \2\3/p' | LC_ALL=C sort > "$work/operators"
[ "$(wc -l < "$work/operators")" -gt 100 ] || { echo "FAILED: the operators are not found in the headers"; exit 1; }
# "operator<tab>dtypes"
(cd "$root/include/tenon" && for header in $(cut -d' ' -f1 "$work/operators" | uniq); do
  awk -f "$root/tests/docs/operands.awk" "$header"
done) > "$work/dtypes"

{
  echo '#define TENON_TARGET reference,cuda'
  cut -d' ' -f1 "$work/operators" | sort -u | sed 's|.*|#include <tenon/&>|'
  cat <<'PROGRAM'
#include <cstdio>
#include <tenon/more.hpp>

using namespace tenon;

struct Values {
  using shape = Shape<1>;
  static constexpr float values[]{0};
};
template <class... Op>
struct List {};
using All = List<
PROGRAM
  sed 's/^[^ ]* /ops::/; $!s/$/,/' "$work/operators"
  cat <<'PROGRAM'
>;
template <class Target, class Op>
constexpr bool has_kernel() {
  if constexpr (std::is_same_v<Target, Cpu>) return tenon::detail::RunsOnCpu<Op>;
  else return requires { sizeof(FoundKernel<Target, Op>); };
}
// Operators that passes put in the place of others, where a kernel of the target says so.
template <class Kernel, class Op>
constexpr bool names() {
  if constexpr (requires { typename Kernel::Chain; }) if (std::is_same_v<typename Kernel::Chain, Op>) return true;
  if constexpr (requires { typename Kernel::Listed; }) if (std::is_same_v<typename Kernel::Listed, Op>) return true;
  if constexpr (requires { typename Kernel::WithUpdate; })
    if (std::is_same_v<typename Kernel::WithUpdate, Op>) return true;
  return (std::is_same_v<Op, ops::ToNchw16n> || std::is_same_v<Op, ops::FromNchw16n>) &&
         kernel_facts<Kernel>().nchw16n != Nchw16n::never;
}
template <class Target, class Op, class Other>
constexpr bool named_by() {
  if constexpr (has_kernel<Target, Other>()) return names<FoundKernel<Target, Other>, Op>();
  else return false;
}
template <class Target, class Op, class... Others>
constexpr bool named_by_any(List<Others...>) {
  return (named_by<Target, Op, Others>() || ...);
}

int missing = 0;
template <class Target, class Op>
const char* cell() {
  if constexpr (Op::view) return "a view";
  else if constexpr (std::is_base_of_v<OnHost, Op>) return "on the host";
  else if constexpr (has_kernel<Target, Op>()) return "yes";
  else if constexpr (named_by_any<Cpu, Op>(All()) && !named_by_any<Target, Op>(All())) return "not used";
  else return missing += std::is_same_v<Target, Cuda>, "missing";
}
template <class Op>
const char* derivative() {
  if constexpr (Op::effect) return "an effect";
  else return tenon::detail::has_derivative<Op>() ? "yes" : "no";
}
template <class Op>
void row(const char* header, const char* name, const char* dtypes) {
  std::printf("| `%s` | `%s` | %s | %s | %s | %s | %s |\n", name, header, dtypes, derivative<Op>(), cell<Cpu, Op>(),
              cell<Reference, Op>(), cell<Cuda, Op>());
}
int main() {
  std::puts("| Operator | Header | Dtypes | Derivative | CPU | Reference | GPU |\n|---|---|---|---|---|---|---|");
PROGRAM
  awk 'NR == FNR { split($0, part, "\t"); dtypes[part[1]] = part[2]; next }
    { name = $2; sub(/<.*/, "", name)
      printf "  row<ops::%s>(\"%s\", \"%s\", \"%s\");\n", $2, $1, $2, ($1 ~ /^nn/ ? "-" : dtypes[name]) }' \
    "$work/dtypes" "$work/operators"
  echo '  return missing != 0;'
  echo '}'
} > "$work/tables.cpp"
"$cxx" -std=c++20 -O0 -w -I"$root/include" -I"$root/tests/support/cuda" "$work/tables.cpp" -o "$work/tables" -lpthread
status=0
"$work/tables" > "$work/table" || status=$?
{
  sed '/^<!-- table/q' "$page"
  cat "$work/table"
  sed -n '/^<!-- end of the table/,$p' "$page"
} > "$work/new"
if [ "$last" = --write ]; then
  cp "$work/new" "$page"
elif ! diff "$page" "$work/new"; then
  echo "FAILED: docs/kernels.md is not what the headers say; sh tests/docs/kernels.sh \"\$PWD\" --write mends it."
  exit 1
fi
[ $status = 0 ] || { echo "FAILED: the GPU has no kernel for:"; grep 'missing |$' "$work/table"; exit 1; }
