#!/bin/sh
# Lesson 22 leaves the same weights on 1 to 5 ranks, and with a number of ranks that changes while it trains, also if
# messages go over TCP: `data_parallel.sh PROGRAM`.
set -u
program=$1
launcher=$(command -v mpirun.openmpi || command -v mpirun) ||
  { echo "SKIPPED: no mpirun is installed (apt-get install openmpi-bin)"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export OMPI_MCA_rmaps_base_oversubscribe=1 PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
cd "$work" || exit 1
faults=0

# ranks N ARGUMENTS...: the last line that the program prints on N ranks, without their number.
ranks() {
  number=$1
  shift
  timeout 100 "$launcher" -n "$number" "$program" "$@" >out 2>&1 || { cat out >&2; return; }
  sed -n 's/^[0-9]* ranks: //p' out
}
expect() {
  [ "$2" = "$alone" ] || { echo "FAILED: $1: $2"; faults=1; }
}

alone=$(ranks 1)
case $alone in
  "accuracy 0.9"*) ;;
  *) echo "FAILED: one rank: '$alone'"; exit 1 ;;
esac
for number in 2 3 5; do
  rm -rf data_parallel
  expect "$number ranks" "$(ranks $number)"
done
rm -rf data_parallel
OMPI_MCA_btl=self,tcp OMPI_MCA_btl_tcp_if_include=lo  # Open MPI 5 finds no way to itself by other interfaces
export OMPI_MCA_btl OMPI_MCA_btl_tcp_if_include
expect "4 ranks over TCP" "$(ranks 4)"
rm -rf data_parallel
ranks 2 30 >/dev/null
ls data_parallel/*.safetensors >/dev/null 2>&1 || { echo "FAILED: 2 ranks saved nothing"; faults=1; }
ranks 4 60 >/dev/null
expect "2, 4, and 3 ranks" "$(ranks 3)"
[ $faults -eq 0 ] && echo "the same on 1, 2, 3, 4, and 5 ranks, and on 2, then 4, then 3: $alone"
exit $faults
