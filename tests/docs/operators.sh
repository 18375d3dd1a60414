#!/bin/sh
# What docs/operators.md lists comes from the headers: one row for each that ops/ops.hpp, nn/nn.hpp,
# dataset/dataset.hpp, ops/more.hpp, or nn/more.hpp includes, with the first sentence of its comment. Operators have the
# names of their functions, and of those of MindSpore and PyTorch, which the docstrings state; a header of ops/ without
# functions is a part of others and has no row. ops/elsewhere.hpp has a sentence for each function of ops/more.hpp.
#   operators.sh [project root]            compares the page with the headers
#   operators.sh [project root] --write    writes it anew
set -eu
root=$(cd "${1:-$(dirname "$0")/../..}" && pwd) || exit 1
include=$root/include/tenon
page=$root/docs/operators.md
new=$(mktemp)
trap 'rm -f "$new"' EXIT

# headers FOLDER FILE
headers() { sed -n "s|^#include <tenon/\($1/.*\)>\$|\1|p" "$include/$1/$2.hpp"; }
# The first sentence of a header.
what() {
  awk '!/^\/\/ / { exit } { sub(/^\/\/ /, ""); text = text (NR > 1 ? " " : "") $0 }
    END { if (i = index(text, ". ")) text = substr(text, 1, i); print text }' "$include/$1"
}
# The functions of a header for users.
functions() {
  awk '
    /^namespace .*(detail|kernel)/ { hidden = 1 }
    /^}  .. namespace .*(detail|kernel)/ { hidden = 0 }
    !hidden && /^constexpr auto [a-z_0-9]+[(]/ { sub(/[(].*/, ""); print $3 }' "$include/$1" | LC_ALL=C sort -u
}
# What the operators of a header are in MindSpore and PyTorch: the sources in its docstrings, and their sentences that
# begin with one of the two.
elsewhere() {
  awk '
    function take(text) { if (text ~ /MindSpore|PyTorch|torch\.|NumPy/ && !(text in seen)) { seen[text]; print text } }
    function finish(  sentence, count, k) {
      if (source != "") {
        count = split(source, sentence, /; /)
        for (k = 1; k <= count; ++k) take(sentence[k])
      }
      count = split(prose, sentence, /[.] /)
      for (k = 1; k <= count; ++k)
        if (sentence[k] ~ /^(MindSpore|PyTorch|NumPy).s/) { sub(/[.]$/, "", sentence[k]); take(sentence[k]) }
      source = prose = ""; field = 0
    }
    /^ *\/\/\/ source  +/ { sub(/^ *\/\/\/ source +/, ""); source = $0; field = 1; next }
    /^ *\/\/\/ [a-z][a-z, ]*  +/ { field = 2; next }
    /^ *\/\/\/  +/ { if (field == 1) { sub(/^ *\/\/\/ +/, ""); source = source " " $0 } next }
    /^ *\/\/\/ / { sub(/^ *\/\/\/ /, ""); prose = prose (prose == "" ? "" : " ") $0; next }
    /^ *\/\/\/$/ { field = 0; next }
    { finish() }' "$include/$1" | awk '{ printf "%s%s", (NR > 1 ? "; " : ""), $0 }'
}
# Headers of ops/ that are no operators for users, as docs/special_values.md has them.
bases() { sed -n 's/^| `\(.*\)` | .*\(no operator |\|base of operators\).*/\1/p' "$root/docs/special_values.md"; }
operators() {
  printf '\n| Operators | Header | What they compute | In MindSpore and PyTorch |\n|---|---|---|---|\n'
  for header in $(headers ops "$1"); do
    bases | grep -qx "$(basename "$header" .hpp)" && continue
    names=$(functions "$header" | sed 's/.*/`&`/' | tr '\n' ' ')
    [ -z "$names" ] || echo "| $names| \`$header\` | $(what "$header") | $(elsewhere "$header") |"
  done
}
# cells TITLE FOLDER FILE PART: the headers of a folder that are below PART.
cells() {
  printf '\n## %s\n\n| Header | What it has |\n|---|---|\n' "$1"
  for header in $(headers "$2" "$3" | grep "^$4"); do echo "| \`$header\` | $(what "$header") |"; done
}
tables() {
  printf '\n## Operators\n'
  operators ops
  cells 'Layers' nn nn nn/layer/
  cells 'Losses' nn nn nn/loss/
  cells 'Metrics' nn nn nn/metric/
  cells 'Optimizers' nn nn nn/optim/
  cells 'Learning rate schedules' nn nn nn/schedule/
  cells 'Cells, parameters, initial values, gradients' nn nn 'nn/\(init/\)*[a-z_0-9]*[.]hpp'
  cells 'Data sets' dataset dataset dataset/
  printf '\n## More operators\n\n'
  printf 'These and the cells below are in `tenon/more.hpp`, which includes `tenon/tenon.hpp`.\n'
  operators more
  cells 'More cells' nn more nn/
}

{
  sed '/^<!-- tables/q' "$page"
  tables
  sed -n '/^<!-- end of the tables/,$p' "$page"
} > "$new"
if [ "${2-}" = --write ]; then
  cp "$new" "$page"
elif ! diff "$page" "$new"; then
  echo "FAILED: docs/operators.md is not what the headers say; sh tests/docs/operators.sh \"\$PWD\" --write mends it."
  exit 1
fi

# A call of each function of ops/more.hpp without that header is a sentence. custom_gradient takes functions alone, so
# that no operand leads to ours.
for header in $(headers ops more); do
  bases | grep -qx "$(basename "$header" .hpp)" || functions "$header"
done | grep -vx custom_gradient | LC_ALL=C sort -u > "$new"
if ! sed -n 's/.*InMore<detail::more::\([a-z_0-9]*\),.*/\1/p' "$include/ops/elsewhere.hpp" | LC_ALL=C sort |
  diff - "$new"; then
  echo "FAILED: ops/elsewhere.hpp lacks functions of ops/more.hpp (>), or has others (<)."
  exit 1
fi
