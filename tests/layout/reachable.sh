#!/bin/sh
# Every header is reached from tenon.hpp or more.hpp, or stands in optional.txt with a reason: `reachable.sh [project
# root]`. A second target, backend/FOLDER/target.hpp, is reached by -DTENON_TARGET=FOLDER: its folder counts from there
# on. An optional header with definitions for the compiled part is reached from compiled/tenon.cpp.
set -u
root=$(cd "${1:-$(dirname "$0")/../..}" && pwd) || exit 1
list=$root/tests/layout/optional.txt
cd "$root/include" || exit 1
[ -f tenon/tenon.hpp ] || { echo "SKIPPED: there is no include/tenon/tenon.hpp"; exit 77; }

find tenon -name '*.hpp' | LC_ALL=C sort | awk -v list="$list" '
function visit(file) {
  if (file in reached) return
  reached[file] = 1
  queue[++last] = file
}
function walk(    file, line) {
  for (; first < last;) {
    file = queue[++first]
    while ((getline line < file) > 0)
      if (line ~ /^[ \t]*#[ \t]*include[ \t]*<tenon\//) { sub(/^[^<]*</, "", line); sub(/>.*/, "", line); visit(line) }
    close(file)
  }
}
function has_definitions(file,    line, found) {
  while (!found && (getline line < file) > 0) found = line ~ /^#if TENON_DEFINES/
  close(file)
  return found
}
BEGIN {
  while ((getline line < list) > 0) {
    if (line ~ /^[ \t]*(#|$)/) continue
    name = line; sub(/[ \t].*/, "", name)
    reason = substr(line, length(name) + 1); gsub(/^[ \t]+/, "", reason)
    if (reason == "") { print "tests/layout/optional.txt: " name ": the reason is missing"; ++faults }
    optional[name] = 1
  }
  visit("tenon/tenon.hpp")
  visit("tenon/more.hpp")
  targets = "ls tenon/backend/*/target.hpp 2>/dev/null"
  while ((targets | getline file) > 0) {
    visit(file)
    sub(/target.hpp$/, "kernels.hpp", file)
    visit(file)
    sub(/kernels.hpp$/, "more.hpp", file)
    if ((getline line < file) > 0) visit(file)
    close(file)
  }
  walk()
  for (file in reached) in_umbrella[file] = 1
  compiled = "../compiled/tenon.cpp"
  has_compiled = (getline line < compiled) >= 0
  close(compiled)
  visit(compiled)
  walk()
}
{
  ++count
  known[$0] = 1
  if (($0 in in_umbrella) && ($0 in optional)) {
    print "tests/layout/optional.txt: " $0 " is reached from tenon.hpp: take it off the list"
    ++faults
  }
  if (!($0 in in_umbrella) && !($0 in optional)) {
    print "include/" $0 ": not reached from tenon.hpp. Include it there, or add it with a reason to " \
      "tests/layout/optional.txt"
    ++faults
  }
}
($0 in optional) && !($0 in reached) && has_compiled && has_definitions($0) {
  print "include/" $0 ": has functions of the compiled part, so compiled/tenon.cpp must include it"
  ++faults
}
END {
  for (name in optional) if (!(name in known)) { print "tests/layout/optional.txt: " name " does not exist"; ++faults }
  if (faults) exit 1
  print count " headers: all reached from tenon.hpp or listed as optional."
}'
