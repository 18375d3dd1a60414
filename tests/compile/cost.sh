#!/bin/sh
# What it costs to compile programs stays below bars: CPU seconds, as a ratio to those of yardstick.cpp in the same run,
# from headers and with the compiled part, and the peak memory from headers; of models what the compiler allocates, too,
# which follows the work that it does. Bars are a fifth above what was measured: beside other tests the ratios move by a
# tenth, as programs of other sizes share caches and memory, and on some machines by more. So a program above a bar is
# measured again, after a yardstick of its own, in up to five rounds, and the least ratio counts: noise passes, a cost
# stays. benchmarks/compile/measure.sh measures seconds.
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

# compiled FILE SOURCE FLAG...: adds the CPU seconds of one compilation to the file, its peak to FILE.peak.
compiled() {
  file=$1 from=$2
  shift 2
  /usr/bin/time -o "$work/time" -f '%U %M' g++ -std=c++20 -O2 -march=native -DTENON_WITH_ZLIB=1 "$@" -Iinclude -c \
    "$from" -o "$work/object.o" 2>"$work/report" || { tail -n 20 "$work/report" && exit 1; }
  cut -d ' ' -f 1 "$work/time" >>"$work/$file"
  cut -d ' ' -f 2 "$work/time" >>"$work/$file.peak"
}
least() { sort -n "$work/$1" 2>/dev/null | head -n 1; }

# about NAME: sets its source, flags, turns in a round (more of a short one), and bars: yardsticks from headers and
# with the compiled part, MB.
about() {
  flags='' headers=- part=- allocated=- turns=1
  case $1 in
    header) source=benchmarks/compile/header.cpp headers=0.38 part=0.28 peak=900 turns='1 2 3' ;;
    mnist)
      source=examples/06_mnist.cpp headers=3.4 part=1.35 peak=900
      # it takes half as long again for constant evaluation as g++ 12, 13, and 16 do, of the yardstick not
      [ "$(g++ -dumpversion | cut -d . -f 1)" -ne 14 ] || { headers=5.0 && part=2.4; }
      ;;
    resnet18) source=benchmarks/compile/resnet18.cpp allocated=1700 peak=1500 ;;
    resnet50-graph) source=benchmarks/compile/resnet50.cpp allocated=2300 peak=1500 flags=-DGRAPH_ONLY ;;
    gpt12-graph) source=benchmarks/compile/gpt12.cpp allocated=1400 peak=1500 flags=-DGRAPH_ONLY ;;
    resnet50) source=benchmarks/compile/resnet50.cpp allocated=3000 peak=1500 ;;
    gpt12) source=benchmarks/compile/gpt12.cpp allocated=1700 peak=1500 ;;
    *) echo "cost.sh: there is no program '$1'" >&2; exit 2 ;;
  esac
}

# measure NAME...: a round. Adds the ratios to NAME.headers.ratio and NAME.part.ratio.
measure() {
  rm -f "$work/yardstick"
  for name in "$@"; do
    about "$name"
    # shellcheck disable=SC2086  # a flag or none
    if [ "$allocated" = - ]; then
      [ -e "$work/yardstick" ] || compiled yardstick tests/compile/yardstick.cpp
      rm -f "$work/$name.headers" "$work/$name.part"
      for _ in $turns; do
        compiled "$name.headers" $source $flags
        compiled "$name.part" $source $flags -DTENON_COMPILED
      done
      for how in headers part; do
        echo "$(least "$name.$how") $(least yardstick)" | awk '{ print $1 / $2 }' >>"$work/$name.$how.ratio"
      done
    elif [ ! -e "$work/$name.report" ]; then
      compiled "$name.headers" $source $flags -ftime-report
      cp "$work/report" "$work/$name.report"
    fi
  done
}

# holds NAME: says what was measured; status 1 if a bar is passed.
holds() {
  about "$1"
  megabytes=-
  [ "$allocated" = - ] || megabytes=$(awk '
    $1 == "TOTAL" { print $NF ~ /G$/ ? $NF * 1024 : $NF ~ /k$/ ? $NF / 1024 : $NF + 0 }' "$work/$1.report")
  echo "$(least "$1.headers.ratio") $(least "$1.part.ratio")" | awk -v name="$1" -v headers="$headers" \
    -v part="$part" -v allocated="$allocated" -v peak="$peak" -v megabytes="$megabytes" \
    -v used="$(least "$1.headers.peak")" '
    function hold(what, value, bar) {
      printf "%s: %.*f %s (bar %s)\n", name, value < 10 ? 2 : 0, value, what, bar
      if (!(value > 0 && value <= bar)) failed = 1
    }
    headers != "-" {
      if (NF != 2) failed = 1
      hold("yardsticks from headers", $1, headers)
      hold("yardsticks with the compiled part", $2, part)
    }
    headers == "-" { hold("MB allocated", megabytes, allocated) }
    END { hold("MB at the peak", used / 1024, peak); exit failed }'
}

for _ in 1 2 3 4 5; do
  measure "$@"
  above=
  for name in "$@"; do holds "$name" || above="$above $name"; done
  # shellcheck disable=SC2086  # several words
  set -- $above
  [ $# -gt 0 ] || exit 0
done
echo "Above a bar after five rounds: $*" >&2
exit 1
