#!/bin/sh
# The list of missing operators and cells in docs/limits.md is what tests/golden/ops_skipped.txt waits for.
#   limits.sh [project root]            compares the page with the file
#   limits.sh [project root] --write    writes it anew
set -eu
root=${1:-$(cd "$(dirname "$0")/../.." && pwd)}
page=$root/docs/limits.md
new=$(mktemp)
trap 'rm -f "$new"' EXIT

# names KIND: what the file says that there is no such thing of, as one wrapped list.
names() {
  sed -n "s/^[^:]*: there is no \(.*\) $1 yet\$/\`\1\`/p" "$root/tests/golden/ops_skipped.txt" | LC_ALL=C sort -u |
    paste -s -d ' ' | sed 's/` `/`, `/g' | fold -s -w 118 | sed 's/ *$//'
}
{
  sed '/^<!-- missing/q' "$page"
  printf '\nOperators:\n'
  names operator
  printf '\nCells:\n'
  names cell
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
