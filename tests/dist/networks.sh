#!/bin/sh
# Trainings of five networks and ResNet-18 leave equal bits on one process and on ranks that talk through shared memory,
# through tcp between two hosts (network namespaces, so root), on the CPU and the emulator of a GPU at once, and on GPUs
# that send by an emulated NCCL; on CPUs also where ranks divide the moments: `networks.sh COMPILER`.
set -u
compiler=$1
. "$(dirname "$0")/ranks.sh"
hosts=tenon-$$
trap 'rm -rf "$dir"; for host in $hosts-a $hosts-b; do ip netns del $host 2>/dev/null; done' EXIT
export GLOG_v=2

command -v mpirun.openmpi >/dev/null || command -v mpirun.mpich >/dev/null ||
  { echo "SKIPPED: no mpirun is installed (apt-get install openmpi-bin)"; exit 77; }
root=$(cd "$(dirname "$0")/../.." && pwd)
compile() {
  "$compiler" -std=c++20 -O1 -march=native "$@" -I"$root/include" "$root/tests/dist/networks/program.cpp" -lpthread -ldl
}
compile -o "$dir/cpu" || exit 1
compile -o "$dir/gpu" -DTENON_TARGET=cuda -I"$root/tests/support/cuda" || exit 1
"$dir/cpu" CPU large >"$dir/large" 2>"$dir/errors" || { cat "$dir/errors"; fail "one process"; }
[ "$(wc -l <"$dir/large")" = 12 ] || { cat "$dir/large"; fail "one process does not print 12 lines"; }
grep -v ResNet-18 "$dir/large" >"$dir/small"

# equal EXPECTED RANKS COMMAND...: so many ranks print these lines, and no others.
equal() {
  expected=$1 ranks=$2
  shift 2
  timeout 600 "$@" >"$dir/out" 2>"$dir/errors" || { cat "$dir/errors"; fail "$*"; return; }
  sort "$dir/out" | uniq -c | sed 's/^ *//' >"$dir/found"
  sort "$expected" | sed "s/^/$ranks /" >"$dir/wanted"
  cmp -s "$dir/wanted" "$dir/found" || { diff "$dir/wanted" "$dir/found"; fail "$*"; }
}

for launcher in mpirun.openmpi mpirun.mpich; do
  command -v $launcher >/dev/null || { echo "SKIPPED: there is no $launcher"; continue; }
  for ranks in 2 3 4 8; do
    equal "$dir/small" $ranks $launcher -n $ranks "$dir/cpu" CPU
    equal "$dir/small" $ranks env DIVIDED=1 $launcher -n $ranks "$dir/cpu" CPU
  done
  equal "$dir/large" 3 $launcher -n 3 "$dir/cpu" CPU large

  # two slices on 1, 2, and 3 replicas
  timeout 600 $launcher -n 2 "$dir/cpu" CPU slices >"$dir/slices" 2>"$dir/errors" ||
    { cat "$dir/errors"; fail "slices"; }
  [ "$(sort -u "$dir/slices" | wc -l)" = 4 ] || { cat "$dir/slices"; fail "two slices do not print 4 lines"; }
  for replicas in 2 3; do
    equal "$dir/slices" $replicas $launcher -n $((2 * replicas)) "$dir/cpu" CPU slices
  done

  # ranks on a GPU among ranks on the CPU
  equal "$dir/small" 3 env DEVICE_ID=0 $launcher -n 1 "$dir/gpu" GPU : -n 2 "$dir/cpu" CPU
  [ "$(grep -c 'on GPU' "$dir/errors")" = 1 ] || fail "no rank was on the GPU"
  for ranks in 2 3 8; do
    equal "$dir/small" $ranks env BACKEND=nccl $launcher -n $ranks "$dir/gpu" GPU
    [ "$(grep -c 'on GPU' "$dir/errors")" = $ranks ] || fail "no $ranks ranks on GPUs"
  done
  timeout 60 $launcher -n 2 "$dir/gpu" GPU >"$dir/out" 2>&1 && fail "two ranks take one GPU"
  grep -q 'there are 2 ranks on this machine, and 1 GPU. Start one rank, or set device_id or DEVICE_ID' "$dir/out" ||
    { cat "$dir/out"; fail "two ranks and one GPU"; }
done

# two hosts with a network between them; Open MPI starts its ranks on the second by this in the place of ssh
network() {
  ip netns add $hosts-a && ip netns add $hosts-b &&
    ip link add veth0 netns $hosts-a type veth peer name veth0 netns $hosts-b &&
    ip -n $hosts-a addr add 10.81.0.1/24 dev veth0 && ip -n $hosts-b addr add 10.81.0.2/24 dev veth0 || return
  for host in $hosts-a $hosts-b; do
    ip -n $host link set veth0 up && ip -n $host link set lo up || return
  done
}
cat >"$dir/agent" <<END
#!/bin/sh
shift
exec ip netns exec $hosts-b unshare --uts sh -c "hostname second; \$*"
END
chmod +x "$dir/agent"
if ! command -v mpirun.openmpi >/dev/null || ! network 2>"$dir/errors"; then
  echo "SKIPPED: two hosts; they need root, iproute2, and Open MPI"
else
  for ranks in 2 3 4; do
    for divided in '' '-x DIVIDED=1'; do
      # shellcheck disable=SC2086  # options or none
      equal "$dir/small" $ranks ip netns exec $hosts-a mpirun.openmpi -H 10.81.0.1:$((ranks / 2)),10.81.0.2:2 \
        --mca plm_rsh_agent "$dir/agent" --mca pml ob1 --mca btl tcp,self $divided -n $ranks "$dir/cpu" CPU
    done
  done
  ip -n $hosts-b -s link show veth0 | awk '/RX:/ { getline; print "the second host received", $1, "bytes"
    exit !($1 > 1000000) }' || fail "the ranks did not talk through the network"
fi
exit $failed
