#!/bin/sh
# The pages for readers avoid words that make a sentence hard to read at first sight: `plain.sh [project root]`. Code
# and quoted texts may have them.
set -u
root=$(cd "${1:-$(dirname "$0")/../..}" && pwd) || exit 1
cd "$root" || exit 1
words='behind|in front of|so many|that many|[Ww]hoever|[Nn]obody|hears? of|(is|are) told|says so|goes on|of yours'
words="$words|of one.s own|by hand|stands?|stood|anew|looked at|was told|were told|wants|there is none|or not at all"
words="$words|hands? on|in force|whichever|of (its|their|your) own[.,;:)]"
found=$(for page in README.md CONTRIBUTING.md CHANGELOG.md docs/*.md docs/contributing/*.md benchmarks/README.md; do
  [ -e "$page" ] || continue
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
    "custom, manually, is or means, again, checked, requires, separate, or say what is missing."
  exit 1
fi
echo "No word of the list in the pages."
