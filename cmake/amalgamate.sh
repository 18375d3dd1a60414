#!/bin/sh
# Writes Tenon as one header: `sh cmake/amalgamate.sh >tenon.hpp`. It holds what <tenon/tenon.hpp> includes, or the
# headers that are named instead: `amalgamate.sh tenon/tenon.hpp tenon/core/xtensor.hpp`.
set -eu
include=$(cd "$(dirname "$0")/../include" && pwd)
[ $# -gt 0 ] || set -- tenon/tenon.hpp
for header; do
  [ -f "$include/$header" ] || {
    echo "amalgamate.sh: there is no header \`$header\`; write its path below include/, as tenon/core/tensor.hpp." >&2
    exit 1
  }
done

awk -v include="$include" '
function stop(text) { print "amalgamate.sh: " text | "cat >&2"; failed = 1; exit 1 }

# Writes a header of ours, with the headers that it includes in their places, once. `conditional`: it stands between
# #if and #endif, so that it may be left out there. Then it gets a guard, and may be written again where it is needed.
function write(name, conditional,   path, line, depth, guard, target) {
  if (name in written || name in open) return
  open[name] = 1
  path = include "/" name
  guard = conditional || name in guarded
  if (!conditional) written[name] = 1
  print "\n// ---- " name
  if (guard) {
    guarded[name] = 1
    target = toupper(name); gsub(/[^A-Z0-9]/, "_", target)
    print "#if !defined(" target "_WRITTEN)\n#define " target "_WRITTEN"
  }
  depth = 0
  while ((getline line < path) > 0) {
    if (line ~ /^[ \t]*#[ \t]*if/) ++depth
    if (line ~ /^[ \t]*#[ \t]*endif/) --depth
    if (line ~ /^[ \t]*#[ \t]*pragma[ \t]+once/) continue
    if (line ~ /^[ \t]*#[ \t]*include[ \t]*<tenon\//) {
      target = line; sub(/^[^<]*</, "", target); sub(/>.*/, "", target)
      write(target, guard || depth > 0)
    } else if (line ~ /^[ \t]*#[ \t]*include[ \t]*"/) stop(name " includes with quotation marks: " line)
    else if (line !~ /^[ \t]*#[ \t]*include[ \t]*</ || guard || depth > 0) print line
    else if (!(line in included)) { included[line] = 1; print line }
  }
  close(path)
  if (depth != 0) stop(name " has an #if without #endif, or the other way round")
  if (guard) print "#endif"
  delete open[name]
}
BEGIN {
  config = include "/tenon/core/config.hpp"
  while ((getline line < config) > 0) if (line ~ /define TENON_VERSION/) { split(line, part, "\""); version = part[2] }
  close(config)
  print "// Tenon " version " in one file, written by its cmake/amalgamate.sh: change the headers there, not this."
  print "// SPDX-License-Identifier: Apache-2.0"
  print "#pragma once"
  for (k = 1; k < ARGC; ++k) write(ARGV[k], 0)
  exit failed
}' "$@"
