#!/bin/sh
# No word that means unfinished work in what users read: `unfinished.sh [project root]`. (Brackets keep this file itself
# clean.)
set -u
root=$(cd "${1:-$(dirname "$0")/../..}" && pwd) || exit 1
cd "$root" || exit 1
set --
for place in include examples tests benchmarks cmake docs packaging README.md CONTRIBUTING.md CHANGELOG.md \
  CMakeLists.txt meson.build; do
  [ -e "$place" ] && set -- "$@" "$place"
done
words='to[d]o|fix[m]e|x[x]x|ha[c]k|st[u]b|place[h]older|un[i]mplemented|not [i]mplemented|for n[o]w'
found=$(grep -rnIiwE "$words" "$@")
if [ -n "$found" ]; then
  echo "$found"
  echo "FAILED: finish the work, or describe the limit as what it is."
  exit 1
fi
echo "No word of unfinished work."
