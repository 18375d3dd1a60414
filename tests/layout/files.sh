#!/bin/sh
# What each file keeps: `files.sh [project root]`. A header begins with a comment that says what it is for, has #pragma
# once, and ends within 400 lines (or stands in long_files.txt with a reason); no file names a folder of somebody's
# machine; no test has the name of a folder.
set -u
root=$(cd "${1:-$(dirname "$0")/../..}" && pwd) || exit 1
list=$root/tests/layout/long_files.txt
cd "$root" || exit 1

find include -name '*.hpp' -o -name '*.cuh' | LC_ALL=C sort | awk -v list="$list" '
BEGIN {
  while ((getline line < list) > 0) {
    if (line ~ /^[ \t]*(#|$)/) continue
    name = line; sub(/[ \t].*/, "", name)
    reason = substr(line, length(name) + 1); gsub(/^[ \t]+/, "", reason)
    if (reason == "") { print "tests/layout/long_files.txt: " name ": the reason is missing"; ++faults }
    may_be_long["include/" name] = 1
  }
}
{
  ++files
  lines = once = 0
  while ((getline line < $0) > 0) {
    if (++lines == 1 && line !~ /^\/\/ [^ ]/) {
      print $0 ":1: the first line must be a comment that says what the file is for"
      ++faults
    }
    if (line ~ /^#pragma once/) once = 1
  }
  close($0)
  if (!once) { print $0 ":2: #pragma once is missing"; ++faults }
  if (lines > 400 && !($0 in may_be_long)) {
    print $0 ":401: " lines " lines: split it, or give the reason in tests/layout/long_files.txt"
    ++faults
  }
  if (lines <= 400 && ($0 in may_be_long)) {
    print "tests/layout/long_files.txt: " $0 " has " lines " lines now: take it off the list"
    ++faults
  }
  seen[$0] = 1
}
END {
  for (name in may_be_long)
    if (!(name in seen)) { print "tests/layout/long_files.txt: " name " does not exist"; ++faults }
  if (!files) { print "no headers found"; exit 1 }
  if (faults) exit 1
  print files " headers: first line, #pragma once, and length are right."
}' || exit 1

# Home folders, and whatever a build on somebody's machine leaves in a file.
found=$(find . \( -path ./.git -o -path ./build \) -prune -o -type f \( -name '*.[chs]*' -o -name '*.txt' \
  -o -name '*.md' -o -name '*.json' -o -name '*.cmake*' -o -name '*.py' -o -name '*.cu' -o -path './.ci/*' \) -print |
  xargs grep -nE '(^|[^a-zA-Z0-9._}-])/(home|root|Users|work|farm|mnt)/[a-zA-Z0-9_.]' 2>/dev/null)
if [ -n "$found" ]; then
  echo "$found"
  echo "FAILED: these lines name a folder of one machine."
  exit 1
fi
echo "No file names a folder of one machine."

# A program is built under the path of its source: it cannot have the name of a folder there.
clash=$(find tests -name '*.cpp' | while read -r source; do
  if [ -d "${source%.cpp}" ]; then echo "$source: ${source%.cpp}/ is a folder; move the test into it"; fi
done)
if [ -n "$clash" ]; then
  echo "$clash"
  echo "FAILED: the programs of these tests could not be written."
  exit 1
fi
