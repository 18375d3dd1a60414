// Trainings on several ranks, and what they leave, for tests.
#pragma once
#include <doctest/doctest.h>

#include <cstring>
#include <span>
#include <string>
#include <vector>

#include <tenon/dataset/dataset.hpp>
#include <tenon/dist/threads.hpp>
#include <tenon/nn/loss/softmax_cross_entropy.hpp>
#include <tenon/train/data_parallel.hpp>

#include "../support/error_of.hpp"
#include "../support/outcome.hpp"

namespace shards {

using namespace tenon;
using support::bands, support::Losses, support::Outcome;

/// The messages of another group, without its memory: as between machines.
struct Apart {
  dist::Communicator group;

  int rank() const { return group.rank(); }
  int size() const { return group.size(); }
  void start(dist::Message& message) {
    const std::span<std::byte> bytes(message.data, message.bytes);
    auto* const inner = new dist::Pending(message.outgoing ? group.start_own_send(message.peer, message.tag, bytes)
                                                           : group.start_own_receive(message.peer, message.tag, bytes));
    std::memcpy(message.request, &inner, sizeof inner);
  }
  bool finish(dist::Message& message, bool wait) {
    dist::Pending* inner;
    std::memcpy(&inner, message.request, sizeof inner);
    if (wait) inner->wait();
    if (!wait && !inner->test()) return false;
    delete inner;
    return true;
  }
  void give_up(dist::Message&) {}
  dist::Communicator split(int, int) { return {}; }
};

struct Training {
  long samples, batch, epochs;
  int shards;
  bool parallel_optimizer = false;
  bool apart = false;  // ranks share no memory
};

template <class Net, class Image, nn::Reduction reduction = nn::Reduction::mean, class Optimizer, class... Parts>
Outcome trained(const Training& how, const Optimizer& optimizer, const Parts&... parts) {
  Net net;
  Model model{net, nn::SoftmaxCrossEntropyWithLogits<reduction>{}, optimizer, parts...};
  Outcome outcome = support::trained_on_bands<Image>(model, how.epochs, how.samples, how.batch);
  for (const io::NamedTensor& moment : model.optimizer_state())
    outcome.parameters.append(static_cast<const char*>(moment.tensor.data), moment.tensor.bytes());
  return outcome;
}

/// Trains on `ranks` threads, each with a network and a Model of its own, which all leave the same; returns that.
template <class Net, class Image, nn::Reduction reduction = nn::Reduction::mean, class Optimizer, class... Parts>
Outcome trained_by(int ranks, Mode mode, const Training& how, const Optimizer& optimizer, const Parts&... parts) {
  const ContextScope scope({.mode = mode, .num_threads = 1, .seed = 11});
  std::vector<Outcome> outcomes(static_cast<std::size_t>(ranks));
  dist::run_ranks(ranks, [&](const dist::Communicator& group) {
    outcomes[std::size_t(group.rank())] = trained<Net, Image, reduction>(
        how, optimizer, parts...,
        dist::DataParallel{how.shards, how.apart ? dist::Communicator::over<Apart>(group) : group,
                           how.parallel_optimizer});
  });
  for (const Outcome& outcome : outcomes) CHECK(outcome == outcomes[0]);
  return outcomes[0];
}

/// All bits are the same on one rank, on these numbers of ranks, and operator by operator on 1 and on 3; also where
/// ranks divide the moments, on the first of these numbers and on the last, and on 3 that share no memory.
template <class Net, class Image, nn::Reduction reduction = nn::Reduction::mean, class Optimizer, class... Parts>
void check_ranks(const std::vector<int>& numbers, Training how, const Optimizer& optimizer, const Parts&... parts) {
  const Outcome alone = trained_by<Net, Image, reduction>(1, Mode::graph, how, optimizer, parts...);
  CHECK(alone.losses.back() < 0.6 * alone.losses.front());  // two dead networks are equal, too
  const auto check = [&](int ranks, Mode mode) {
    CAPTURE(ranks);
    CHECK(trained_by<Net, Image, reduction>(ranks, mode, how, optimizer, parts...) == alone);
  };
  for (const int ranks : numbers) check(ranks, Mode::graph);
  for (const int ranks : {1, 3}) check(ranks, Mode::pynative);
  how.parallel_optimizer = true;
  for (const int ranks : {1, numbers.front(), numbers.back()}) check(ranks, Mode::graph);
  how.apart = true;
  check(3, Mode::pynative);
}

/// What both of two ranks hear that train these.
template <class F>
std::string both_hear(F train) {
  std::vector<std::string> heard(2);
  dist::run_ranks(2, [&](const dist::Communicator& group) {
    heard[std::size_t(group.rank())] = support::error_of([&] { train(group, group.rank() == 1); });
  });
  CHECK(heard[0] == heard[1]);
  return heard[0];
}

}  // namespace shards
