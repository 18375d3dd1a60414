#!/bin/sh
# Links in the pages for readers lead to files that exist, and to headings that these files have. Files that a page
# names exist, or a page in docs/contributing/ writes them: it begins a line with their name. Links to other sites are
# not tried.
#   links.sh [project root]
set -u
root=$(cd "${1:-$(dirname "$0")/../..}" && pwd) || exit 1
cd "$root" || exit 1

# The anchors of a page's headings, as GitHub makes them.
anchors() {
  awk '/^ *```/ { code = !code; next }
    !code && /^#+ / {
      line = tolower($0)
      sub(/^#+ /, "", line)
      gsub(/[^a-z0-9 _-]/, "", line)
      gsub(/ /, "-", line)
      print line
    }' "$1"
}

# The text of a page without its blocks of code, as one line.
text() { awk '/^ *```/ { code = !code; next } !code' "$1" | tr '\n' ' '; }

written=$(sed -n 's/^`\([a-z_0-9/]*[.][a-z]*\)`.*/\1/p' docs/contributing/*.md 2>/dev/null)

found=$(for page in README.md CONTRIBUTING.md CHANGELOG.md docs/*.md docs/contributing/*.md; do
  [ -e "$page" ] || continue
  text "$page" | sed 's/`[^`]*`/code/g' | grep -o ']([^):]*)' | sed 's/^](//; s/)$//' |
    while read -r link; do
      target=${link%%#*}
      file=$page
      [ -z "$target" ] || file=$(dirname "$page")/$target
      if [ ! -e "$file" ]; then echo "$page: $link: there is no $file"; continue; fi
      case $link in
        *#*) anchors "$file" | grep -qx -e "${link#*#}" || echo "$page: $link: $file has no such heading" ;;
      esac
    done
  text "$page" | grep -o '[`<][a-z][a-z_0-9]*/[a-z_0-9/]*[.]\(hpp\|cpp\|sh\|py\|txt\|md\)[`>]' | tr -d '`<>' | sort -u |
    while read -r file; do
      ls "$file" "include/$file" "include/tenon/$file" "include/tenon/dataset/$file" 2>/dev/null | grep -q . ||
        echo "$written" | grep -q -e "^\(include/tenon/\|tests/\)*$file\$" ||
        echo "$page: there is no $file"
    done
done)
if [ -n "$found" ]; then
  echo "$found"
  echo "FAILED: mend these links and names of files."
  exit 1
fi
echo "Every link and every name of a file leads somewhere."
