#!/bin/sh
# README.md beside this file maps each paragraph of the founding documents: `check.sh [project root]`. The rows of a
# document follow each other from its first line to its last, each with an answer; the tests that they name exist; and
# no case of this folder is without a row.
set -u
root=$(cd "${1:-$(dirname "$0")/../..}" && pwd) || exit 1
cd "$root" || exit 1
page=tests/seeds/README.md
faults=$(mktemp) && tests=$(mktemp) || exit 1
trap 'rm -f "$faults" "$tests"' EXIT

# Writes the tests that are named, PATH|CASE, to $tests.
LC_ALL=C awk -v page="$page" -v tests="$tests" '
  function fault(text) { print page ":" FNR ": " text }
  function end() {
    if (document != "" && last != lines) fault(document " has " lines " lines, its rows end with line " last)
  }
  function look(answer,    i, path) {
    if (answer ~ /^(not built yet|needs hardware) \([^)].*\)$/ || answer ~ /^nothing to test( \(.+\))?$/) return
    if (answer !~ /^`[^`]+`(: .+)?$/) { fault("no answer: " answer); return }
    i = index(substr(answer, 2), "`")
    path = substr(answer, 2, i - 1)
    print path "|" substr(answer, i + 4) >tests
  }
  /^## / {
    end()
    document = $2 " " $3
    lines = $4; sub(/^\(/, "", lines)
    last = 0
    if (++documents != 1 + $3) fault("the documents are 000 to 004, in their order")
  }
  document != "" && /^\|/ && !/^\| Lines \|/ && !/^\|---/ {
    count = split($0, cell, /[ ]*\|[ ]*/)
    if (count != 5 || cell[2] !~ /^[0-9]+(-[0-9]+)?$/ || cell[3] == "") {
      fault("a row has lines, what they are about, and an answer")
      next
    }
    split(cell[2], range, "-")
    if (range[2] == "") range[2] = range[1]
    if (range[1] != last + 1 || range[2] < range[1]) fault("line " last + 1 " of " document " comes next, not " cell[2])
    last = range[2]
    answers = split(cell[4], answer, "<br>")
    for (i = 1; i <= answers; ++i) look(answer[i])
    if (!answers) fault("no answer")
  }
  END {
    end()
    if (documents != 5) fault("there are five documents, not " documents + 0)
  }' "$page" >"$faults"

# The names of the cases of a file, one a line; clang-format may have put them on a line of their own.
cases() { tr '\n' ' ' <"$1" | grep -o 'TEST_CASE( *"[^"]*"' | sed 's/^TEST_CASE( *"//; s/"$//'; }

sort -u "$tests" | while IFS='|' read -r path case; do
  if [ ! -f "$path" ]; then
    echo "$page: there is no $path"
  else
    case $path in
      tests/error/*.txt) grep -q "^$case  *##" "$path" || echo "$page: $path has no row $case" ;;
      *.sh) [ -z "$case" ] || echo "$page: a script has no cases: $path" ;;
      *) cases "$path" | grep -Fxq -- "$case" || echo "$page: $path has no case \"$case\"" ;;
    esac
  fi
done >>"$faults"

for file in tests/seeds/*.cpp; do
  [ -f "$file" ] || continue
  cases "$file" | while IFS= read -r case; do
    grep -Fxq -- "$file|$case" "$tests" || echo "$file: no row of $page names the case \"$case\""
  done
done >>"$faults"

if [ -s "$faults" ]; then
  cat "$faults"
  echo "FAILED: write the rows of $page anew."
  exit 1
fi
echo "$(sort -u "$tests" | wc -l) tests are named in the rows of five documents."
