#!/bin/sh
# The pages for readers avoid words that make a sentence hard to read at first sight: `plain.sh [project root]`. Code
# and quoted texts are not looked at.
set -u
root=${1:-$(cd "$(dirname "$0")/../.." && pwd)}
cd "$root" || exit 1
words='behind|in front of|so many|that many|[Ww]hoever|[Nn]obody|hears? of|(is|are) told|says so|goes on|of yours'
words="$words|of one.s own|by hand"
found=$(for page in README.md CONTRIBUTING.md docs/*.md; do
  awk -v page="$page" -v words="$words" '
    /^ *```/ { code = !code; next }
    code { next }
    {
      line = $0
      gsub(/`[^`]*`|"[^"]*"/, "", line)
      if (match(line, "(^|[^a-z])(" words ")([^a-z]|$)"))
        print page ":" FNR ": " substr(line, RSTART, RLENGTH) " in: " $0
    }' "$page"
done)
if [ -n "$found" ]; then
  echo "$found"
  echo "FAILED: after or following, before, this many, the caller or the thread, is notified, reports, continues," \
    "custom, manually."
  exit 1
fi
echo "No word of the list in the pages."
