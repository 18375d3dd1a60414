#!/bin/sh
# Lines and format: `lines.sh [project root]`. No line of a text that the repository keeps is longer than 120
# characters; rows of Markdown tables, tables of mistakes, and golden data are exempt. C++ is as clang-format-19 writes
# it, where that is installed.
set -u
root=$(cd "${1:-$(dirname "$0")/../..}" && pwd) || exit 1
cd "$root" || exit 1
files=$(mktemp) || exit 1
trap 'rm -f "$files"' EXIT

if [ -e .git ] && command -v git >/dev/null; then
  git ls-files --cached --others --exclude-standard
else
  find . \( -name build -o -name __pycache__ -o -name .git \) -prune -o -type f -print | sed 's|^\./||'
fi | grep -Ev '^tests/(golden|error/table)/.*\.txt$' | LC_ALL=C sort >"$files"

# Bytes 128 to 191 continue a character of UTF-8, so what is left without them are the characters.
found=$(while IFS= read -r file; do
  [ -f "$file" ] && LC_ALL=C grep -Iq . "$file" && LC_ALL=C awk -v name="$file" '
    name ~ /\.md$/ && /^ *\|/ { next }
    length($0) > 120 { line = $0; gsub(/[\200-\277]/, "", line) }
    length($0) > 120 && length(line) > 120 {
      print name ":" FNR ": " length(line) " characters, at most 120 are allowed"
    }
  ' "$file"
done <"$files")
if [ -n "$found" ]; then
  echo "$found"
  echo "FAILED: wrap these lines."
  exit 1
fi
echo "No line is longer than 120 characters."

command -v clang-format-19 >/dev/null || {
  echo "SKIPPED: clang-format-19 is not installed (apt-get install clang-format-19), formats were not looked at"
  exit 0
}
if ! grep -E '\.(hpp|cpp|cu|cuh|h)$' "$files" | xargs clang-format-19 --dry-run -Werror; then
  echo "FAILED: run clang-format-19 -i on these files."
  exit 1
fi
echo "C++ is as clang-format-19 writes it."
