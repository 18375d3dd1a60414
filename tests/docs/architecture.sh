#!/bin/sh
# Holds docs/architecture.md true: `architecture.sh [project root]`. In a row that ends with a file and a name, the file
# has the name as a word; each file that the page names exists; the table of folders has each folder and no other.
set -u
root=$(cd "${1:-$(dirname "$0")/../..}" && pwd) || exit 1
page=$root/docs/architecture.md
cd "$root/include/tenon" || exit 1
failures=0
fail() { echo "docs/architecture.md: $*"; failures=$((failures + 1)); }

rows=$(sed -n 's/^|.*| `\([a-z0-9_/]*\.hpp\)` | `\([A-Za-z0-9_]*\)` |$/\1 \2/p' "$page")
[ "$(echo "$rows" | grep -c .)" -ge 20 ] || fail "has fewer than 20 rows with a file and a name: is this test blind?"
while read -r file name; do
  [ -f "$file" ] || { fail "$file does not exist"; continue; }
  grep -qw -- "$name" "$file" || fail "$file does not have $name"
done <<END
$rows
END
for file in $(grep -oE '`[a-z0-9_/]+/[a-z0-9_]+\.hpp`' "$page" | tr -d '`' | LC_ALL=C sort -u); do
  [ -f "$file" ] || fail "$file does not exist"
done

for folder in */; do
  [ -n "$(find "$folder" -name '*.hpp')" ] || continue  # an empty one is not in the repository
  grep -q "^| \`$folder\` |" "$page" || fail "the table of folders lacks $folder"
done
for folder in $(sed -n 's/^| `\([a-z]*\/\)` |.*/\1/p' "$page"); do
  [ -d "$folder" ] || fail "there is no folder $folder"
done
for room in $(sed -n 's/^| `\(graph\|backend\)\/` |\(.*\)|$/\1 \2/p' "$page" | awk '{
    for (k = 2; k <= NF; ++k) if ($k ~ /^`[a-z]*\/`/) { room = $k; gsub(/[`;,]/, "", room); print $1 "/" room } }'); do
  [ -d "$room" ] || fail "there is no folder $room"
done
[ $failures -eq 0 ] && echo "docs/architecture.md: $(echo "$rows" | grep -c .) names stand where it says."
