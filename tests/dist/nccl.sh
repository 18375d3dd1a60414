#!/bin/sh
# Ranks with emulated GPUs, which send by an emulated NCCL: they leave the bits of ranks on the CPU, and what goes wrong
# is a sentence: `nccl.sh COMPILER`. `nccl.sh COMPILER operators` tests the operators among ranks instead.
set -u
compiler=$1 what=${2:-program}
. "$(dirname "$0")/ranks.sh"

mpirun=$(command -v mpirun.openmpi || command -v mpirun.mpich || command -v mpirun) ||
  { echo "SKIPPED: no mpirun is installed (apt-get install openmpi-bin)"; exit 77; }
root=$(cd "$(dirname "$0")/../.." && pwd)
"$compiler" -std=c++20 -O0 -march=native -DTENON_TARGET=cuda -I"$root/include" -I"$root/tests/support/cuda" \
  "$root/tests/dist/nccl/$what.cpp" -lpthread -ldl -o "$dir/program" || exit 1

if [ "$what" = operators ]; then
  for ranks in 1 2 3 4; do
    timeout 60 "$mpirun" -n $ranks "$dir/program" collectives >"$dir/out" 2>&1 && continue
    cat "$dir/out"
    fail "collectives of $ranks ranks"
  done
  for training in train slices; do
    for target in CPU GPU; do
      timeout 60 "$mpirun" -n 2 "$dir/program" $training $target >"$dir/out" 2>"$dir/errors" ||
        fail "$training on $target"
      sort "$dir/out" >"$dir/$target"
    done
    [ "$(wc -l <"$dir/CPU")" = 4 ] && cmp "$dir/CPU" "$dir/GPU" || { cat "$dir/CPU" "$dir/GPU"; fail "$training"; }
    [ $training = slices ] && messages='[1-9][0-9]*' || messages=384
    [ "$(grep -c " $messages groups of NCCL" "$dir/errors")" = 2 ] ||
      { cat "$dir/errors"; fail "$training did not send by NCCL"; }
  done
  exit $failed
fi

"$dir/program" train CPU >"$dir/wanted" 2>"$dir/errors" || { cat "$dir/wanted" "$dir/errors"; fail "one process"; }
[ "$(wc -l <"$dir/wanted")" = 2 ] || { cat "$dir/wanted"; fail "one process does not print 2 lines"; }
for ranks in 1 2 3 4; do
  timeout 60 "$mpirun" -n $ranks "$dir/program" train GPU >"$dir/out" 2>"$dir/errors" ||
    { cat "$dir/out" "$dir/errors"; fail "$ranks ranks"; continue; }
  sort "$dir/out" | uniq -c | sed 's/^ *//' >"$dir/found"
  sort "$dir/wanted" | sed "s/^/$ranks /" | cmp -s - "$dir/found" ||
    { cat "$dir/wanted" "$dir/out"; fail "$ranks ranks"; }
  # two exchanges in each of 6 steps of two modes
  [ $ranks = 1 ] || [ "$(grep -c ' 24 groups of NCCL' "$dir/errors")" = $ranks ] ||
    { cat "$dir/errors"; fail "$ranks ranks did not send by NCCL"; }
done

while IFS=: read -r mistake words; do
  NCCL_SOCKET_IFNAME=lo timeout 20 "$mpirun" -n 2 "$dir/program" "$mistake" >"$dir/out" 2>&1 </dev/null
  status=$?
  [ $status -ne 0 ] && [ $status -ne 124 ] && grep -qF -- "$words" "$dir/out" && continue
  cat "$dir/out"
  fail "program $mistake: status $status, and not \"$words\""
done <<END
no-library:dist::init("nccl") needs libnccl.so.2, NCCL 2.14.0 or newer, which cannot be loaded (cannot open
no-function:libnccl.so.2 (NCCL 2.28.3) has no function ncclSend, which dist::init("nccl") needs: install
old:dist::init("nccl") needs NCCL 2.14.0 or newer, and libnccl.so.2 is 2.7.8: install a newer one
on-cpu:Device target should be 'GPU' to init nccl, but got CPU: call set_context
no-header:dist::init("nccl"): this program has no calls of NCCL: include <tenon/backend/cuda/nccl.hpp>
by-mpi:AllGather on GPU needs dist::init("nccl"): the ranks of its group send by MPI, from the memory of the host.
different:Rank 0 calls all_gather of 12 bytes, rank 1 calls all_to_all of 12 bytes: they run different calls.
no-id:ncclGetUniqueId of rank 0: unhandled system error
ends:Rank 1 has ended, and rank 0 waits for an exchange of GPUs.
fails:NCCL 2.28.3 failed on rank 1 of 2, which waits for an exchange of GPUs: unhandled system error
breaks:network error (connection to rank lost). NCCL_SOCKET_IFNAME=lo in the environment; NCCL_DEBUG=INFO shows more.
cudaEventQuery:GPU: a kernel or copy failed
cudaEventRecord:GPU: cudaEventRecord failed
sizes:000 bytes, expected are 
is-killed:Killed
late:Rank 1 has waited for an exchange of GPUs for 0.5 s, the timeout of dist::init
stuck:has waited for an exchange of GPUs for 0.5 s, the timeout of dist::init: another rank is stuck, or slow.
END
DEVICE_ID=1 timeout 20 "$mpirun" -n 2 "$dir/program" train GPU >"$dir/out" 2>&1 && fail "two ranks use one GPU"
grep -q 'ranks 0 and 1 use one GPU, device_id 1 (0000:18:00.0) of .*: NCCL needs one for each rank' "$dir/out" ||
  { cat "$dir/out"; fail "two ranks and one GPU"; }
exit $failed
