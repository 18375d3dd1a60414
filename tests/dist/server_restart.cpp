// A worker, a server, or the scheduler is killed in the middle of a training, and started again: no bit changes.
// link: zmq
// label: long
#include <doctest/doctest.h>
#if __has_include(<zmq.h>) && !defined(__SANITIZE_THREAD__)  // libzmq itself is not compiled for that

#include <limits>
#include <string>

#include <tenon/nn/layer/dropout.hpp>
#include <tenon/nn/layer/norm/batch_norm.hpp>
#include <tenon/nn/optim/adam.hpp>
#include <tenon/nn/optim/clip.hpp>
#include <tenon/nn/optim/momentum.hpp>
#include <tenon/train/callbacks.hpp>
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

template <class Optimizer, class Part>
std::string trained(const Optimizer& optimizer, const Part& part, Killer killer = {}) {
  const ContextScope scope({.mode = Mode::graph, .num_threads = 1, .seed = 5});
  Dropping net;
  Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, optimizer, part};
  const auto data = small::samples(52) | dataset::shuffle(52, 3) | dataset::batch(11);
  model.train(1, data, killer);  // 5 steps
  model.train(2, data, killer);
  std::string bits = small::bits(net);
  for (const io::NamedTensor& moment : model.optimizer_state())
    bits.append(static_cast<const char*>(moment.tensor.data), moment.tensor.bytes());
  return bits;
}

template <class Optimizer>
void check(const Optimizer& optimizer, int workers, Victim victim, long step, bool before, double timeout = 30) {
  CAPTURE(int(victim));
  CAPTURE(step);
  CAPTURE(before);
  const std::string alone = trained(optimizer, dist::DataParallel{.shards = 4});
  Job job(2, workers, timeout);
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
struct StopAt {
  long step;
  void step_end(RunInfo& run) {
    if (run.cur_step_num == step) run.request_stop();
  }
};

}  // namespace

TEST_CASE("a network with moving statistics and dropout has the bits of one process") {
  check(adam, 3, Victim::nobody, 0, false);
  check(nn::ClipByGlobalNorm{adam, 0.1f}, 3, Victim::nobody, 0, false);
}
TEST_CASE("a worker is killed, before a step, after one, at the end of an epoch, in the last step") {
  for (const Victim victim : {Victim::worker, Victim::other_worker})
    for (const auto& [step, before] : {std::pair(1, true), {3, false}, {5, false}, {7, true}, {10, false}})
      check(adam, 3, victim, step, before);
}
TEST_CASE("a server is killed") {
  for (const auto& [step, before] : {std::pair(1, true), {3, false}, {5, false}, {7, true}, {10, false}})
    check(adam, 2, Victim::server, step, before);
}
TEST_CASE("a server is killed in the second run of a program, which trains other parameters, or another Model") {
  const auto train = [](const auto& part, bool in_two_models, Killer killer = {}) {
    const ContextScope scope({.mode = Mode::graph, .num_threads = 1, .seed = 5});
    const auto data = small::samples(52) | dataset::shuffle(52, 3) | dataset::batch(11);
    Dropping net;
    Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, adam, part};
    net.fc1.requires_grad(in_two_models);
    model.train(1, data);
    net.fc1.requires_grad(true);
    if (!in_two_models) model.train(2, data, killer);
    else {
      Model second{net, nn::SoftmaxCrossEntropyWithLogits{}, nn::Momentum{.learning_rate = 0.1f, .momentum = 0.9f},
                   part};
      second.train(2, data, killer);
    }
    return small::bits(net);
  };
  for (const bool in_two_models : {false, true}) {
    CAPTURE(in_two_models);
    const std::string alone = train(dist::DataParallel{.shards = 4}, in_two_models);
    Job job(2, 2);
    const auto body = [&] {
      return train(dist::ParameterServer{.shards = 4, .folder = job.folder()}, in_two_models,
                   Killer{&job.board(), Victim::server, 7, true});
    };
    job.start_all(body);
    job.wait(body);
    CHECK(job.board().kills == 1);
    for (const char* const name : {"worker 0", "worker 1"}) CHECK(job.said(name) == alone);
  }
}
TEST_CASE("a worker that is killed between two runs has lost what the first has left, and all hear it") {
  for (const int workers : {1, 2}) {
    Job job(1, workers);
    const auto body = [&] {
      Dropping net;
      Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, adam, dist::ParameterServer{.folder = job.folder()}};
      const auto data = small::samples(52) | dataset::batch(11);
      model.train(1, data);
      if (dist::parameter_server_role() == dist::Role::worker && model.global_step() > 0 &&
          dist::detail::server_node()->rank() == 0 && !job.board().kills.exchange(1))
        ::raise(SIGKILL);
      model.train(1, data);
      return std::string("ended well");
    };
    job.start_all(body);
    job.wait(body);
    for (const std::string& name : {text("worker 0"), text("worker ", workers - 1), text("server 0")}) {
      CAPTURE(job.said(name));
      CHECK(job.said(name).find("worker 0 was started again between two trainings, and has not the weights that the "
                                "first one left") != std::string::npos);
    }
  }
}
TEST_CASE("the scheduler is killed") {
  for (const auto& [step, before] : {std::pair(1, true), {8, false}, {10, false}})
    check(adam, 2, Victim::scheduler, step, before);
}
TEST_CASE("an infinite timeout waits for the restart, too") {
  for (const Victim victim : {Victim::other_worker, Victim::scheduler})
    check(adam, 2, victim, 7, true, std::numeric_limits<double>::infinity());
}
TEST_CASE("several are killed at once") {
  for (const Victim victims : {Victim::both_servers, Victim::scheduler_and_worker}) check(adam, 3, victims, 7, true);
}

namespace {
/// What the processes say if one is killed and not started again: two workers, and worker 0 kills.
void check_given_up(Victim victim, const char* words, const std::vector<std::string>& names) {
  CAPTURE(words);
  Job job(1, 2, 4);
  const auto body = [&] {
    return trained(adam, dist::ParameterServer{.shards = 4, .folder = job.folder()},
                   Killer{&job.board(), victim, 3, true});
  };
  job.start_all(body);
  job.wait(body, false);
  for (const std::string& name : names) {
    CAPTURE(name);
    CAPTURE(job.said(name));
    CHECK(job.said(name).find(words) != std::string::npos);
  }
}
}  // namespace
TEST_CASE("the others give up after the timeout, with a sentence that names the one that is missing") {
  check_given_up(Victim::other_worker, "worker 1 has been silent for 4 s", {"worker 0", "server 0", "the scheduler"});
  check_given_up(Victim::server, "server 0 has been silent for 4 s", {"worker 0", "worker 1", "the scheduler"});
}
TEST_CASE("an error of one worker ends the training on all") {
  struct Failing {
    void step_end(RunInfo& run) {
      if (dist::detail::server_node()->rank() == 1 && run.cur_step_num == 3) throw ValueError("of its own");
    }
  };
  Job job(2, 3);
  const auto body = [&] {
    Dropping net;
    Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, adam, dist::ParameterServer{.folder = job.folder()}};
    model.train(3, small::samples(52) | dataset::batch(11), Failing{});
    return std::string("ended well");
  };
  job.start_all(body);
  job.wait(body);
  CHECK(job.said("worker 1") == "ERROR of its own");
  for (const char* const name : {"worker 0", "worker 2", "server 0", "server 1", "the scheduler"}) {
    CAPTURE(job.said(name));
    CHECK(job.said(name).find("worker 1 has ") != std::string::npos);  // left the training, or ended its program
  }
}
namespace {
struct SetRate {
  void step_end(auto& run) {
    if (run.rank() == 1 && run.cur_step_num == 1) run.network().drop.set_rate(0.25f);
  }
};
}  // namespace
TEST_CASE("a setting of a cell that one worker changes ends the training on all") {
  Job job(1, 2);
  const auto body = [&] {
    Dropping net;
    Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, adam, dist::ParameterServer{.folder = job.folder()}};
    model.train(1, small::samples(52) | dataset::batch(11), SetRate{});
    return std::string("ended well");
  };
  job.start_all(body);
  job.wait(body);
  for (const char* const name : {"worker 0", "worker 1"}) {
    CAPTURE(job.said(name));
    CHECK(job.said(name).find("in step 2 worker 1 has other settings of cells than worker 0") != std::string::npos);
  }
}
TEST_CASE("a checkpoint of worker 0 in the middle of a training has the moments of the servers") {
  const auto train = [](const auto& part, const std::string& folder, long epochs, auto... callbacks) {
    const ContextScope scope({.mode = Mode::graph, .num_threads = 1, .seed = 5});
    Dropping net;
    Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, adam, part};
    if (!folder.empty()) load_training(*latest_checkpoint("m", folder), model);
    model.train(epochs, small::samples(52) | dataset::shuffle(52, 3) | dataset::batch(11), callbacks...);
    return small::bits(net);
  };
  Job job(2, 2);
  const auto body = [&] {
    return train(dist::ParameterServer{.shards = 4, .folder = job.folder()}, "", 2,
                 ModelCheckpoint("m", job.folder(), {.save_checkpoint_steps = 7, .keep_checkpoint_max = 1}), StopAt{8});
  };
  job.start_all(body);
  job.wait(body);
  CHECK(train(dist::DataParallel{.shards = 4}, job.folder(), 2) == train(dist::DataParallel{.shards = 4}, "", 2));
}
TEST_CASE("a worker too many is refused") {
  Job job(1, 1);
  const auto body = [] { return ::sleep(8), std::string(); };
  job.start_all(body);
  ::usleep(300000);
  job.start("MS_WORKER", body);
  job.wait(body);
  CHECK(job.said("refused") ==
        "ERROR dist::init_parameter_server: there are 1 workers already, as many as MS_WORKER_NUM says.");
}
TEST_CASE("any of them are killed again and again, whenever it is") {
  const std::string alone = trained(adam, dist::DataParallel{.shards = 4});
  Job job(2, 3);
  const auto body = [&] {
    return trained(adam, dist::ParameterServer{.shards = 4, .folder = job.folder()},
                   Killer{.board = &job.board(), .pause = 400000});
  };
  job.start_all(body);
  const pid_t killer = ::fork();
  if (killer == 0) {
    Random random(3);
    for (int i = 0; i < 5; ++i) {
      ::usleep(500000 + random.word() % 2000000);
      const std::uint32_t who = random.word() % 6;
      Board& board = job.board();
      std::atomic<pid_t>& victim = who < 2 ? board.server[who] : who < 5 ? board.worker[who - 2] : board.scheduler;
      if (const pid_t pid = victim.exchange(0); pid > 0) ::kill(pid, SIGKILL);  // a number may be that of another later
    }
    ::_exit(0);
  }
  job.adopt(killer);
  job.wait(body);
  for (int w = 0; w < 3; ++w) CHECK(job.said(text("worker ", w)) == alone);
}

#else
#include "../support/skip.hpp"
TEST_CASE("parameter server") { support::say_skipped("ZeroMQ is not installed, or not for this sanitizer"); }
#endif
