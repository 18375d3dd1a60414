#!/bin/sh
# What the compiler allocates, which follows the work that it does, and its peak memory stay below their bars. Neither
# depends on how busy the machine is; benchmarks/compile/measure.sh measures seconds.
#   cost.sh SOURCE_DIR NAME...
set -eu
[ -x /usr/bin/time ] || {
  echo "SKIPPED: /usr/bin/time is not installed (apt-get install time), compile cost was not measured"
  exit 77
}
cd "$1"
shift
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0
for name in "$@"; do
  flags=
  case $name in
    header) source=benchmarks/compile/header.cpp allocated=410 peak=900 ;;
    mnist) source=examples/06_mnist.cpp allocated=1100 peak=900 ;;
    resnet18) source=benchmarks/compile/resnet18.cpp allocated=1700 peak=1500 ;;
    resnet50-graph) source=benchmarks/compile/resnet50.cpp allocated=2300 peak=1500 flags=-DGRAPH_ONLY ;;
    gpt12-graph) source=benchmarks/compile/gpt12.cpp allocated=1400 peak=1500 flags=-DGRAPH_ONLY ;;
    resnet50) source=benchmarks/compile/resnet50.cpp allocated=3000 peak=1500 ;;
    gpt12) source=benchmarks/compile/gpt12.cpp allocated=1700 peak=1500 ;;
    *) echo "cost.sh: there is no program '$name'" >&2; exit 2 ;;
  esac
  /usr/bin/time -o "$work/time" -f 'peak %M' g++ -std=c++20 -O2 -march=native -DTENON_WITH_ZLIB=1 $flags -Iinclude \
    -ftime-report -c "$source" -o "$work/object.o" 2>"$work/report"
  awk -v name="$name" -v allocated="$allocated" -v peak="$peak" '
    $1 == "TOTAL" { unit = $NF ~ /G$/ ? 1024 : $NF ~ /k$/ ? 1 / 1024 : 1; used = ($NF + 0) * unit }
    $1 == "peak" { resident = $2 / 1024 }
    END {
      printf "%s: %.0f MB allocated (bar %s), %.0f MB at the peak (bar %s)\n", name, used, allocated, resident, peak
      exit !(used > 0 && used <= allocated && resident > 0 && resident <= peak)
    }' "$work/report" "$work/time" || { echo "$name is above a bar" >&2; failed=1; }
done
exit $failed
