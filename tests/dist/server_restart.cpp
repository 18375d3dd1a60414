// A worker, a server, or the scheduler is killed in the middle of a training, and started again: no bit changes.
// link: zmq
// label: long
#include <doctest/doctest.h>
#if __has_include(<zmq.h>)

#include <string>

#include <tenon/nn/layer/dropout.hpp>
#include <tenon/nn/layer/norm/batch_norm.hpp>
#include <tenon/nn/optim/adam.hpp>
#include <tenon/nn/optim/clip.hpp>
#include <tenon/train/data_parallel.hpp>

#include "../support/outcome.hpp"
#include "../train/small.hpp"
#include "server.hpp"

using namespace servers;

namespace {

struct Dropping : nn::Cell<Dropping> {
  nn::Dense<3, 8> fc1;
  nn::BatchNorm1d<8> bn;
  nn::Dropout<> drop;
  nn::Dense<8, 2> fc2;
  constexpr auto construct(auto x) const { return fc2(drop(relu(bn(fc1(x))))); }
};

enum class Victim { nobody, worker, other_worker, server, scheduler };
/// Kills a process, once: called on worker 0 alone.
struct Killer {
  Board* board = nullptr;
  Victim victim = Victim::nobody;
  long step = 0;
  bool before = false;

  void step_begin(RunInfo& run) {
    if (before && run.cur_step_num == step) kill();
  }
  void step_end(RunInfo& run) {
    if (!before && run.cur_step_num == step) kill();
  }
  void kill() const {
    if (victim == Victim::nobody || dist::detail::server_node()->rank() != 0 || board->kills.exchange(1)) return;
    ::kill(victim == Victim::worker         ? board->worker[0]
           : victim == Victim::other_worker ? board->worker[1]
           : victim == Victim::server       ? board->server[0]
                                            : board->scheduler,
           SIGKILL);
  }
};

template <class Optimizer, class Part>
std::string trained(const Optimizer& optimizer, const Part& part, Killer killer = {}) {
  const ContextScope scope({.mode = Mode::graph, .num_threads = 1, .seed = 5});
  Dropping net;
  Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, optimizer, part};
  model.train(3, small::samples(52) | dataset::shuffle(52, 3) | dataset::batch(11), killer);
  std::string bits = small::bits(net);
  for (const io::NamedTensor& moment : model.optimizer_state())
    bits.append(static_cast<const char*>(moment.tensor.data), moment.tensor.bytes());
  return bits;
}

template <class Optimizer>
void check(const Optimizer& optimizer, int workers, Victim victim, long step, bool before) {
  CAPTURE(int(victim));
  CAPTURE(step);
  CAPTURE(before);
  const std::string alone = trained(optimizer, dist::DataParallel{.shards = 4});
  Job job(2, workers);
  const auto body = [&] {
    return trained(optimizer, dist::ParameterServer{.shards = 4, .folder = job.folder()},
                   Killer{&job.board(), victim, step, before});
  };
  job.start_all(body);
  job.wait(body);
  CHECK(job.board().kills == (victim != Victim::nobody));
  for (int w = 0; w < workers; ++w) CHECK(job.said(text("worker ", w)) == alone);
}
const nn::Adam adam{.learning_rate = 0.01f};

}  // namespace

TEST_CASE("a network with moving statistics and dropout has the bits of one process") {
  check(adam, 3, Victim::nobody, 0, false);
  check(nn::ClipByGlobalNorm{adam, 0.1f}, 3, Victim::nobody, 0, false);
}
TEST_CASE("a worker is killed, before a step, after one, at the end of an epoch, in the last step") {
  for (const Victim victim : {Victim::worker, Victim::other_worker})
    for (const auto& [step, before] : {std::pair(1, true), {7, true}, {8, false}, {5, false}, {15, false}})
      check(adam, 3, victim, step, before);
}
TEST_CASE("a server is killed") {
  for (const auto& [step, before] : {std::pair(1, true), {7, true}, {8, false}, {5, false}, {15, false}})
    check(adam, 2, Victim::server, step, before);
}
TEST_CASE("the scheduler is killed") {
  for (const auto& [step, before] : {std::pair(1, true), {8, false}, {15, false}})
    check(adam, 2, Victim::scheduler, step, before);
}

#else
#include "../support/skip.hpp"
TEST_CASE("parameter server") { support::say_skipped("ZeroMQ is not installed"); }
#endif
