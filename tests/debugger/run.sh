#!/bin/sh
# What gdb or lldb shows of the values in values.cpp is what session.txt says: run.sh gdb|lldb PROGRAM SOURCE_DIR
# gdb finds its script by itself, as the program links tenon::debugger.
set -u
kind=$1 program=$2 source=$3
scripts=$source/debugger

skip() { echo "SKIPPED: $*"; exit 77; }
debugger=
for name in $kind $kind-19; do
  [ -n "$debugger" ] || debugger=$(command -v "$name" || true)
done
[ -n "$debugger" ] || skip "$kind is not installed"

# The session for this debugger, with lines of values.cpp by number.
awk -v kind="$kind" 'NR == FNR { if (match($0, /\/\/ .*/)) line[substr($0, RSTART + 3)] = FNR; next }
  /^[a-z]/ { other = /^(gdb|lldb): / && index($0, kind ":") != 1; sub(/^(gdb|lldb): /, "") }
  other { next }
  /^[a-z]/ && match($0, /@.*@/) {
    mark = substr($0, RSTART + 1, RLENGTH - 2)
    $0 = substr($0, 1, RSTART - 1) "values.cpp:" line[mark] substr($0, RSTART + RLENGTH)
  }
  { print }' "$source/tests/debugger/values.cpp" "$source/tests/debugger/session.txt" >session
sed -n '/^[a-z]/p' session >commands

export LC_ALL=C PYTHONDONTWRITEBYTECODE=1
if [ "$kind" = gdb ]; then
  "$debugger" -nx -batch -ex 'python print("has Python")' 2>&1 | grep -q '^has Python' || skip "gdb has no Python"
  { echo 'set trace-commands on'; cat commands; } >script
  timeout 300 "$debugger" -nx -batch -iex 'set debuginfod enabled off' -iex "add-auto-load-safe-path $scripts" \
    -x script "$program" >said 2>&1 </dev/null
else
  "$debugger" -x -b -o 'script print("has", "Python")' 2>&1 </dev/null | grep -q '^has Python' ||
    skip "lldb has no Python"
  timeout 300 "$debugger" -x -b -o "command script import '$scripts/tenon_lldb.py'" -s commands "$program" \
    >said 2>&1 </dev/null
fi
grep -qiE 'ptrace: Operation not permitted|ptrace.*failed|packet returned an error' said &&
  skip "$kind may not run a program here"

# Section k of what was said belongs to command k. Every line that stands below a command must be in its section, in
# this order.
awk -v session=session '
BEGIN {
  while ((getline line < session) > 0) {
    if (line ~ /^[a-z]/) { command[++commands] = line; continue }
    if (line !~ /^  +[^ ]/) continue
    sub(/^  /, "", line)
    expected[commands, ++count[commands]] = line
    ++lines
  }
}
/^\+|^\(lldb\) / {
  text = $0; sub(/^\+|^\(lldb\) /, "", text)
  if (text ~ /^(command script import|target create|settings set)/) next
  if (text == command[at + 1]) { ++at; section[at] = ""; next }
}
{ section[at] = section[at] "\n" $0 }
END {
  if (at != commands) { print "only " at + 0 " of " commands " commands ran"; exit 1 }
  for (k = 1; k <= commands; ++k) {
    rest = section[k]
    for (i = 1; i <= count[k]; ++i) {
      place = index(rest, expected[k, i])
      if (!place) {
        print "`" command[k] "` should say\n  " expected[k, i] "\nand says" section[k] "\n"
        ++faults
        break
      }
      rest = substr(rest, place + length(expected[k, i]))
    }
  }
  if (faults) exit 1
  print lines " lines are as they should be."
}' said || { echo "FAILED: all that $debugger said:"; cat said; exit 1; }
