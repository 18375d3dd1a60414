#!/bin/sh
# The list of missing operators and cells in docs/limits.md is what tests/golden/ops_skipped.txt waits for.
#   limits.sh [project root]            compares the page with the file
#   limits.sh [project root] --write    writes it anew
set -eu
root=$(cd "${1:-$(dirname "$0")/../..}" && pwd) || exit 1
page=$root/docs/limits.md
new=$(mktemp)
trap 'rm -f "$new"' EXIT

# names KIND: the names of which the file says "there is no NAME KIND yet", as one wrapped list.
names() {
  sed -n "s/^[^:]*: there is no \(.*\) $1 yet\$/\`\1\`/p" "$root/tests/golden/ops_skipped.txt" | LC_ALL=C sort -u |
    paste -s -d ' ' | sed 's/` `/`, `/g' | fold -s -w 118 | sed 's/ *$//'
}
# The options of operators and cells of which the file says "NAME has no OPTION yet", an item each.
options() {
  sed -n 's/^[^:]*: \([A-Za-z_0-9]*\) has no \(.*\) yet$/- `\1`: no \2/p' "$root/tests/golden/ops_skipped.txt" |
    LC_ALL=C sort -u
}
{
  sed '/^<!-- missing/q' "$page"
  if [ -s "$root/tests/golden/ops_skipped.txt" ]; then
    printf '\nOperators:\n'
    names operator
    printf '\nCells:\n'
    names cell
    printf '\nOptions:\n\n'
    options
  else printf '\nNone.\n'
  fi
  echo
  sed -n '/^<!-- end of what is missing/,$p' "$page"
} >"$new"
if [ "${2-}" = --write ]; then
  cp "$new" "$page"
elif ! diff "$page" "$new"; then
  echo "FAILED: docs/limits.md names other operators than tests/golden/ops_skipped.txt;" \
    "sh tests/docs/limits.sh \"\$PWD\" --write updates it."
  exit 1
fi
