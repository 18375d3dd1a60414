#!/bin/sh
# A disk that is full, or read-only, under each tool that writes: a small tmpfs, mounted where nobody else sees it.
#   full_disk.sh SOURCE_DIR [CXX]
# The training has the same weights and ends well, there is one warning, and nothing is half-written: no temporary file,
# and what has a name of its own is as long as on a disk with room. Exit status 77: this machine allows no mounts.
set -u
source=$1 compiler=${2:-g++}
if [ "${TENON_DISK:-}" = "" ]; then
  work=$(mktemp -d) || exit 1
  trap 'rm -rf "$work"' EXIT
  unshare -rm mount -t tmpfs -o size=64k tenon "$work" 2>/dev/null ||
    { echo "SKIPPED: this machine lets nobody mount in a namespace of his own, full disks were not tried"; exit 77; }
  "$compiler" -std=c++20 -O0 -I"$source/include" "$source/tests/debug/full_disk/program.cpp" -o "$work/program" \
    -lpthread || exit 1
  TENON_DISK=$work unshare -rm sh "$0" "$source"
  exit
fi

cd "$TENON_DISK" || exit 1
mkdir room disk
mount -t tmpfs -o size=512k tenon disk || exit 1
faults=0
fail() {
  echo "FAILED: $tool, $state: $*"
  faults=1
}
# run TOOL FOLDER [DISK]: trains with a tool that writes there.
run() {
  tool_folder=$TENON_DISK/$2
  if [ $# -gt 2 ]; then set -- "$1" "$tool_folder" "$TENON_DISK/$3"; else set -- "$1" "$tool_folder"; fi
  cat >dump.json <<END
{"common_dump_settings": {"dump_mode": 0, "path": "$2/dump", "net_name": "Net", "iteration": "all", "input_output": 0,
 "kernels": [], "support_device": [0]}, "e2e_dump_settings": {"enable": true, "trans_flag": false}}
END
  case $1 in
    dump) MINDSPORE_DUMP_CONFIG=$TENON_DISK/dump.json ./program "$@" ;;
    log) GLOG_v=0 GLOG_logtostderr=0 GLOG_log_dir=$2/log ./program "$@" ;;
    *) ./program "$@" ;;
  esac >out 2>err
}
weights() { grep '^weights: ' out; }

tool=none
run none room || { cat err; exit 1; }
expected=$(weights)
# What a tool writes at once is as it is with room: times differ, and sizes with them, but not of these.
complete() {
  case $1 in
    *.npy | *.ir | *.dot) cmp -s "$1" "$2" ;;
    *.svg) tail -n 1 "$1" | grep -q '^</svg>' ;;
    *.html) tail -n 1 "$1" | grep -q '</html>$' ;;
    */rank_0/*.json | */.dump_metadata/*) [ "$(wc -c <"$1")" -ge $(($(wc -c <"$2") - 8)) ] ;;
    *.json) tail -c 3 "$1" | grep -q '[]}]' ;;
    *.csv | *timestamp*.txt) [ "$(wc -l <"$1")" -eq "$(wc -l <"$2")" ] ;;
    */log/*) [ ! -s "$1" ] || [ "$(tail -c 1 "$1" | wc -l)" -eq 1 ] ;;
    *) ./program whole "$1" ;;
  esac
}
# The file with room that corresponds to one: names of dumps have times, those of events, too.
counterpart() {
  path=room${1#disk}
  [ -e "$path" ] || path=$(find "$(dirname "$path")" -name "$(basename "$path" | sed 's/[0-9]\{6,\}/*/g')" 2>/dev/null |
    head -n 1)
  echo "${path:-none}"
}

for tool in profiler report save_graphs dump log print summary; do
  state=room
  rm -rf room/*
  run $tool room
  status=$?
  [ $status -ne 77 ] || { echo "$tool: not in this program"; continue; }
  [ $status -eq 0 ] || { cat err; fail "exit status $status"; continue; }
  [ "$(weights)" = "$expected" ] || fail "other weights: $(weights)"
  if grep -q 'compiled without nlohmann_json\|needs protozero' err; then echo "$tool: not in this program"; continue; fi
  [ "$tool" = log ] || [ ! -s err ] || { cat err; fail "a warning though there is room"; }
  files=$(find room -type f | wc -l)
  [ "$files" -gt 0 ] || fail "nothing was written"
  for state in full 8 40 read-only; do
    mount -o remount,rw disk && find disk -mindepth 1 -delete
    case $state in
      full) head -c 1000k /dev/zero >disk/.fill 2>/dev/null; run $tool disk ;;
      read-only) run $tool disk disk ;;
      *) head -c $((512 - state))k /dev/zero >disk/.fill; run $tool disk ;;
    esac
    status=$?
    [ $status -eq 0 ] || { cat err; fail "exit status $status"; }
    [ "$(weights)" = "$expected" ] || fail "other weights: $(weights)"
    find disk -type f ! -name .fill >left
    if grep '[.]tmp$' left; then fail "temporary files stay"; fi
    while read -r file; do
      complete "$file" "$(counterpart "$file")" || fail "$file is not complete"
    done <left
    warnings=$(grep -v ' of many$' err | grep -c '^\[\(WARNING\|ERROR\)\] [A-Z]*(')
    [ "$warnings" -eq 1 ] || [ "$(wc -l <left)" -eq "$files" ] || { head -n 5 err; fail "$warnings warnings"; }
    echo "$tool, $state: $warnings warnings, $(wc -l <left) of $files files"
  done
done
exit $faults
