#!/bin/sh
# Lesson 8 runs the unit of each level that this processor has, and the highest of them if it is not told:
# `several_cpus.sh PROGRAM`.
set -u
program=$1
faults=0 highest=""
fault() { echo "FAILED: $*"; faults=1; }

for pair in x86-64:4 x86-64-v3:8 x86-64-v4:16; do
  level=${pair%:*} lanes=${pair#*:}
  if line=$("$program" "$level" 2>err); then
    highest=$line
    case $line in
      "vectors of $lanes floats: accuracy "0.[89]*) ;;
      *) fault "$level: $line" ;;
    esac
  else
    grep -q "this processor cannot run $level" err || fault "$level: $(cat err)"
  fi
done
[ "$("$program")" = "$highest" ] || fault "without an argument it runs $("$program"), not $highest"
"$program" i386 2>err && fault "a level that does not exist runs"
grep -q "got 'i386'" err || fault "i386: $(cat err)"
[ $faults -eq 0 ] && echo "each level runs its own unit; the highest: $highest"
exit $faults
