// Kills a training with SIGKILL, at chosen places inside of write, fsync, rename, and unlink and at random times, and
// lets another process go on with it, until it ends: its bits are compared with those of a run that nobody killed.
#pragma once
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <tenon/nn/layer/dropout.hpp>
#include <tenon/nn/optim/adam.hpp>
#include <tenon/train/callback/model_checkpoint.hpp>

#include "../support/failpoint.hpp"
#include "small.hpp"

namespace killed {

using namespace small;
namespace fs = std::filesystem;

using support::failpoint, support::Failpoint, support::Moment, support::SystemCall, support::phases, support::Phase;

/// Random numbers in each step, and moments.
struct Net : nn::Cell<Net> {
  nn::Dense<3, 16> fc1;
  nn::Dropout<nn::DropoutConfig{.p = 0.3f}> dropout;
  nn::Dense<16, 2> fc2;
  constexpr auto construct(auto x) const { return fc2(dropout(relu(fc1(x)))); }
};
inline auto data() { return samples(24) | dataset::shuffle(24) | dataset::batch(4); }  // 6 steps an epoch
inline nn::Adam adam() { return {.learning_rate = 0.01}; }
using Trained = Model<Net, nn::SoftmaxCrossEntropyWithLogits<>, nn::Adam, ModelOptions{}>;

/// The bits of a run that nobody kills.
inline std::string whole(long epochs) {
  Net net;
  Trained model(net, {}, adam());
  model.train(epochs, data());
  return bits(net);
}
/// A folder that is gone with the scope; in memory where that can be had, for what is killed is a process, not a disk.
struct Folder {
  static fs::path above() { return fs::is_directory("/dev/shm") ? "/dev/shm" : fs::temp_directory_path(); }
  fs::path path;
  explicit Folder(const char* name) : path(above() / (name + std::to_string(::getpid()))) {
    fs::remove_all(path), fs::create_directories(path);
  }
  ~Folder() { fs::remove_all(path); }
};
/// What a process does: goes on with the last checkpoint, trains to the end, and writes the bits. Exit code 3: it could
/// not read a checkpoint.
[[noreturn]] inline void run(const fs::path& folder, long epochs, bool background, const Failpoint& where) {
  try {
    Net net;
    Trained model(net, {}, adam());
    try {
      if (const auto file = latest_checkpoint("run", folder.string())) load_training(*file, model);
    } catch (const std::exception& error) {
      std::fprintf(stderr, "%s\n", error.what());
      ::_exit(3);
    }
    failpoint = where;
    model.train(epochs, data(),
                ModelCheckpoint("run", folder.string(),
                                {.save_checkpoint_steps = 3, .keep_checkpoint_max = 2, .async_save = background}));
    failpoint = {};
    std::ofstream(folder / "result.tmp", std::ios::binary) << bits(net);
    fs::rename(folder / "result.tmp", folder / "result");
    ::_exit(0);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    ::_exit(4);
  }
}
inline int wait_for(pid_t child) {
  int status = 0;
  ::waitpid(child, &status, 0);
  return status;
}
inline std::string result_in(const fs::path& folder) {
  std::ifstream in(folder / "result", std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(in), {});
}

/// What became of all kills.
struct Ledger {
  std::map<std::string, long> kills;
  long unreadable = 0, failed = 0, diverged = 0, left_behind = 0;
  long all() const {
    long sum = 0;
    for (const auto& [phase, count] : kills) sum += count;
    return sum;
  }
  void print() const {
    for (const auto& [phase, count] : kills) std::printf("%-24s %5ld kills\n", phase.c_str(), count);
    std::printf("all %ld kills: %ld unreadable, %ld runs failed, %ld diverged, %ld unfinished files stayed\n", all(),
                unreadable, failed, diverged, left_behind);
  }
};
/// Notes how a process that went on with a run has ended.
inline void note_end(Ledger& ledger, int status, const fs::path& folder, const std::string& expected) {
  const int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  if (code == 3) ++ledger.unreadable;
  else if (code != 0) ++ledger.failed;
  else if (result_in(folder) != expected) ++ledger.diverged;
  for (const auto& entry : fs::directory_iterator(folder)) ledger.left_behind += entry.path().extension() == ".tmp";
}

/// A process that dies at a failpoint, and one that goes on. False if the failpoint was not reached.
inline bool kill_at(Ledger& ledger, const Failpoint& where, const char* phase, bool background, long epochs,
                    const std::string& expected) {
  const Folder folder("tenon_failpoint_");
  const pid_t first = ::fork();
  if (first == 0) run(folder.path, epochs, background, where);
  const int status = wait_for(first);
  if (!WIFSIGNALED(status)) return false;
  ++ledger.kills[phase];
  const pid_t second = ::fork();
  if (second == 0) run(folder.path, epochs, background, {});
  note_end(ledger, wait_for(second), folder.path, expected);
  return true;
}
/// A run that is killed after random times until it has ended. Returns the number of kills.
inline long kill_at_random(Ledger& ledger, Random& random, bool background, long epochs, const std::string& expected) {
  const Folder folder("tenon_killed_");
  for (long kills = 0;; ++kills) {
    const pid_t child = ::fork();
    if (child == 0) run(folder.path, epochs, background, {});
    if (kills < 100) {
      ::usleep(useconds_t(1000 + random.below(20000)));
      ::kill(child, SIGKILL);
    }
    const int status = wait_for(child);
    if (WIFSIGNALED(status)) {
      ++ledger.kills[background ? "at random, async" : "at random"];
      continue;
    }
    note_end(ledger, status, folder.path, expected);
    return kills;
  }
}

/// Failpoints in all phases, in files written at once and in the background, and kills at random.
inline Ledger kill_many(long failpoints, long at_random) {
  set_context({.mode = Mode::graph, .num_threads = 1, .seed = 11});
  Ledger ledger;
  const long epochs = failpoints / 30 + 2;  // two files an epoch, and 18 failpoints in each
  const std::string expected = whole(epochs);
  for (long number = 1; ledger.all() < failpoints; ++number) {
    const long before = ledger.all();
    for (const Phase& phase : phases)
      for (const bool background : {false, true})
        kill_at(ledger, {phase.call, phase.moment, number}, phase.name, background, epochs, expected);
    if (ledger.all() == before) break;  // so many calls there are not
  }
  Random random(3);
  const long more_epochs = 100;
  const std::string longer = whole(more_epochs);
  for (const bool background : {false, true})
    for (long kills = 0; kills < (at_random + 1) / 2;)
      kills += kill_at_random(ledger, random, background, more_epochs, longer);
  return ledger;
}

}  // namespace killed
