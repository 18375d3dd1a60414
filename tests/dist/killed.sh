#!/bin/sh
# A training whose ranks are killed at random instants, and started again as another number of ranks, in another mode
# and by another MPI, ends with the bits of one that was left alone: `killed.sh COMPILER [KILLS [SEED]]`.
set -u
compiler=$1 kills=${2:-100} seed=${3:-1}
. "$(dirname "$0")/ranks.sh"
# ranks that wait must not keep the two processors from those that compute
export OMPI_MCA_mpi_yield_when_idle=1

launchers=
for name in mpirun.openmpi mpirun.mpich; do
  ! command -v $name >/dev/null || launchers="$launchers $name"
done
[ -n "$launchers" ] || { echo "SKIPPED: no mpirun is installed (apt-get install openmpi-bin mpich)"; exit 77; }

# program MODE FOLDER: trains from the last checkpoint in the folder, and rank 0 prints a number of all weights, moments
# and losses. A rank writes its process number first.
cat >"$dir/program.cpp" <<'END_OF_PROGRAM'
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <fstream>
#include <string>

#include <tenon/dist.hpp>
#include <tenon/tenon.hpp>
#include <tenon/train/callbacks.hpp>

using namespace tenon;

struct Net : nn::Cell<Net> {
  nn::Conv2d<1, 8, 5> conv;
  nn::BatchNorm2d<8> norm;
  nn::Dropout<nn::DropoutConfig{.p = 0.1f}> drop;
  nn::Dense<1568, 10> fc;
  constexpr auto construct(auto image) const {
    return fc(drop(flatten(max_pool2d<2>(relu(norm(conv(image)))))));
  }
};

int main(int, char** words) try {
  dist::init("mpi");
  const std::string folder = words[2];
  std::ofstream(folder + "/process_" + std::to_string(dist::get_rank())) << ::getpid() << std::endl;
  set_context({.mode = words[1] == std::string("graph") ? Mode::graph : Mode::pynative, .num_threads = 1, .seed = 3});
  const auto data =
      dataset::Digits{.usage = dataset::Usage::train, .size = 1520} | dataset::shuffle(1520) | dataset::batch(19);
  Net net;
  Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, nn::Adam{.learning_rate = 2e-3f},
              dist::DataParallel{.shards = 8}};
  if (const auto file = latest_checkpoint("digits", folder)) load_training(*file, model);
  model.train(8, data, ModelCheckpoint("digits", folder, {.save_checkpoint_steps = 7, .keep_checkpoint_max = 2}));
  std::uint64_t number = 0;
  for (const auto& tensors : {named_parameters(net), model.optimizer_state()})
    for (const auto& [name, tensor] : tensors)
      number = hash_bytes(static_cast<const char*>(tensor.data), tensor.bytes(), number);
  if (dist::get_rank() == 0) std::printf("weights %016llx\n", static_cast<unsigned long long>(number));
} catch (const Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
END_OF_PROGRAM
root=$(cd "$(dirname "$0")/../.." && pwd)
"$compiler" -std=c++20 -O2 -march=native -I"$root/include" "$dir/program.cpp" -lpthread -ldl -o "$dir/program" || exit 1

mkdir "$dir/alone"
begin=$(date +%s%N)
"$dir/program" graph "$dir/alone" >"$dir/expected" || exit 1
alone=$((($(date +%s%N) - begin) / 1000000))

# A line for each run: ranks, mode, launcher, the instant of the kill in seconds, the rank that is killed.
awk -v runs=$((5 * kills)) -v seed="$seed" -v launchers="$launchers" -v most="$alone" 'BEGIN {
  srand(seed)
  count = split(launchers, launcher, " ")
  while (runs-- > 0) {
    ranks = 1 + int(6 * rand())
    print ranks, rand() < 0.7 ? "graph" : "pynative", launcher[1 + int(count * rand())],
      0.2 + (0.3 + 0.6 * most / 1000) * rand(), int(ranks * rand())
  }
}' >"$dir/runs"

killed=0 changes=0 ended=0 before=0 slowest=0
mkdir "$dir/run"
while [ $killed -lt "$kills" ] && read -r ranks mode launcher instant victim; do
  rm -f "$dir"/run/process_*
  [ $before -eq 0 ] || [ $before -eq "$ranks" ] || changes=$((changes + 1))
  before=$ranks
  timeout 120 "$launcher" -n "$ranks" "$dir/program" "$mode" "$dir/run" >"$dir/out" 2>"$dir/errors" </dev/null &
  job=$!
  sleep "$instant"
  process=$(cat "$dir/run/process_$victim" 2>/dev/null)
  begin=$(date +%s%N)
  if [ -n "$process" ] && kill -9 "$process" 2>/dev/null; then
    wait $job && [ "$ranks" -gt 1 ] && ! cmp -s "$dir/out" "$dir/expected" &&
      fail "a job ends well without rank $victim"
    time=$((($(date +%s%N) - begin) / 1000000))
    [ $time -le "$slowest" ] || slowest=$time
    [ $time -le 5000 ] || fail "$launcher: a job of $ranks ranks lives for $time ms without rank $victim"
    grep -qE "rank $victim with PID|Rank $victim |KILLED BY SIGNAL: 9|Killed \(signal 9\)" "$dir/errors" "$dir/out" ||
      { cat "$dir/errors" "$dir/out"; fail "$launcher says nothing of rank $victim"; }
    killed=$((killed + 1))
  else
    wait $job || { cat "$dir/errors"; fail "$launcher -n $ranks"; }
  fi
  for started in "$dir"/run/process_*; do  # a process that has ended has no words
    [ -s "$started" ] && grep -q "$dir" "/proc/$(cat "$started")/cmdline" 2>/dev/null &&
      fail "${started##*/} of $ranks is left over"
  done
  if [ -s "$dir/out" ] && grep -q weights "$dir/out"; then  # it was done before the kill
    grep weights "$dir/out" | cmp -s - "$dir/expected" || { cat "$dir/expected" "$dir/out"; fail "other bits"; }
    # what killed ranks did not finish was removed by the next save; two checkpoints of each run stay
    ! ls -A "$dir/run" | grep -vE '^process_[0-9]$|^digits(_[0-9]+)?-[0-9]+_[0-9]+\.safetensors$' ||
      fail "files are left over"
    rm -rf "$dir/run"
    mkdir "$dir/run"
    ended=$((ended + 1)) before=0
  fi
done <"$dir/runs"
echo "$killed kills, $changes changes of the number of ranks, $ended trainings to the end; the slowest end of a job" \
  "took $slowest ms; a training alone takes $alone ms"
[ $killed -ge "$kills" ] || fail "only $killed kills"
[ $ended -ge $((kills / 20)) ] || fail "only $ended trainings came to their end"
exit $failed
