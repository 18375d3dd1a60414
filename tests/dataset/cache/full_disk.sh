#!/bin/sh
# A disk that becomes full under a cache in LMDB, or is full when it is opened: the message says so, and the program
# goes on. LMDB itself says "Input/output error" for a page that it could write only in part.
#   full_disk.sh SOURCE_DIR [CXX]
# Exit status 77: no mounts are allowed here, or LMDB is not installed.
set -u
source=$1 compiler=${2:-g++}
echo '#include <lmdb.h>' | "$compiler" -E -x c++ - >/dev/null 2>&1 ||
  { echo "SKIPPED: LMDB is not installed"; exit 77; }
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
mkdir "$work/disk"
unshare -rm mount -t tmpfs -o size=64k tenon "$work/disk" 2>/dev/null ||
  { echo "SKIPPED: this machine lets nobody mount in a namespace of his own, full disks were not tried"; exit 77; }
cat >"$work/program.cpp" <<'END_OF_PROGRAM'
#include <cstdio>
#include <cstdlib>

#include <tenon/dataset/cache/lmdb_store.hpp>
using namespace tenon;
int main(int, char** argument) {
  try {
    dataset::LmdbStore store(argument[1]);
    const std::string row(std::size_t(std::atol(argument[2])), 'x');
    for (std::uint64_t i = 0; i < 400; ++i) store.put({1, 0, i}, std::as_bytes(std::span(row)), {});
  } catch (const Error& error) {
    std::printf("%s\n", error.what());
  }
}
END_OF_PROGRAM
"$compiler" -std=c++20 -O0 -I"$source/include" "$work/program.cpp" -o "$work/program" -lpthread -llmdb || exit 1
# case SIZE ROW FILLED: a disk of that size, rows of so many bytes, and whether others have filled it before.
faults=0
full=0
try() {
  unshare -rm sh -c "mount -t tmpfs -o size=$1 tenon '$work/disk' && mkdir '$work/disk/session' &&
    { [ $3 = no ] || cat /dev/zero >'$work/disk/others' 2>/dev/null; '$work/program' '$work/disk/session' $2; }" \
    >"$work/out" 2>&1 || { echo "FAILED: $*: the program ended by itself: $(cat "$work/out")"; faults=1; }
  grep -Eq 'disk is (nearly )?full|No space left on device' "$work/out" ||
    { echo "FAILED: $*: $(cat "$work/out")"; faults=1; }
  if grep -q 'Input/output error' "$work/out"; then echo "FAILED: $*: $(cat "$work/out")"; faults=1; fi
  if grep -q 'the disk is full (No space left on device)' "$work/out"; then full=$((full + 1)); fi
}
try 10m 300000 no
try 10m 3000000 no
try 33m 300000 no
try 10m 300000 yes
[ $full -ge 1 ] || { echo "FAILED: no disk became full under the cache"; faults=1; }
[ $faults -eq 0 ] && echo "4 disks, $full of them full while LMDB wrote: the messages say so."
exit $faults
