#!/bin/sh
# Compile time and memory stay below twice their bars (benchmarks/compile), so that a noisy machine does not fail this.
#   cost.sh SOURCE_DIR [NAME]...
set -eu
[ -x /usr/bin/time ] || { echo "SKIPPED: /usr/bin/time is not installed (apt-get install time), compile cost was not measured"; exit 77; }
source=$1
shift
FACTOR=2 sh "$source/benchmarks/compile/measure.sh" "$@"
