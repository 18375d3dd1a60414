#!/bin/sh
# Two units with operators of the same names, linked in both orders: `same_name.sh SOURCE_DIR COMPILER`. Exit status 77:
# the compiler is not here.
set -eu
compiler=$(command -v "$2" || ls "/usr/local/cuda/bin/$2" 2>/dev/null || true)
[ -n "$compiler" ] || { echo "SKIPPED: $2 is not installed"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
flags="-std=c++20 -O1 -I$1/include"
case $2 in
  nvcc) flags="$flags -x cu --expt-relaxed-constexpr -diag-suppress 128,177" ;;
  *) flags="$flags -march=native" ;;
esac
for unit in mine yours; do
  # shellcheck disable=SC2086  # several flags
  "$compiler" $flags -c "$1/tests/odr/same_name/$unit.cpp" -o "$work/$unit.o"
done
status=0
for order in "$work/mine.o $work/yours.o" "$work/yours.o $work/mine.o"; do
  # shellcheck disable=SC2086  # two files
  "$compiler" $order -o "$work/program" -lpthread
  echo "linked as $(echo "$order" | sed "s|$work/||g")"
  "$work/program" || status=1
done
exit $status
