#!/bin/sh
# Every operator of docs/operators.md, and every loss, has a case in tests/golden/derivatives*.cpp, which compares its
# values and derivatives with PyTorch's, or a reason in tests/golden/derivatives_skipped.txt.
#   derivatives.sh [project root]
set -eu
root=$(cd "${1:-$(dirname "$0")/../..}" && pwd) || exit 1
golden=$root/tests/golden
skipped=$golden/derivatives_skipped.txt
called=$(mktemp)
trap 'rm -f "$called"' EXIT

# What the cases are named after, and the functions and losses that they call.
{
  sed 's/[. ].*//' "$golden/derivatives.txt"
  sed 's/>::[a-z_]*//g' "$golden"/derivatives*.cpp | grep -oE '[A-Za-z_0-9]+[<(>]' | tr -d '<(>'
} | LC_ALL=C sort -u >"$called"
operators() {
  sed -n 's/^| \(`[a-z_0-9` ]*`\) | `ops\/.*/\1/p' "$root/docs/operators.md" | tr -d '`' | tr ' ' '\n'
  sed -n 's/^struct \([A-Za-z0-9]*Loss\) : Cell<.*/\1/p' "$root"/include/tenon/nn/loss/*.hpp
}
wrong=0
for name in $(operators | LC_ALL=C sort -u); do
  reason=$(sed -n "s/^$name: \(.*\)/\1/p" "$skipped")
  if grep -qx "$name" "$called"; then
    [ -z "$reason" ] || { echo "derivatives_skipped.txt skips $name, which has a case: remove the line."; wrong=1; }
  elif [ -z "$reason" ]; then
    echo "$name has no case in tests/golden/derivatives*.cpp, and derivatives_skipped.txt gives no reason."
    wrong=1
  fi
done
for name in $(sed 's/:.*//' "$skipped"); do
  operators | grep -qx "$name" || { echo "derivatives_skipped.txt names $name, which is no operator."; wrong=1; }
done
exit $wrong
