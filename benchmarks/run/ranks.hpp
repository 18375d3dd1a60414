// Training on several ranks, for benchmarks/distributed.py: times of steps, and what their messages take.
#pragma once
#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include <tenon/dataset/operations.hpp>
#include <tenon/dist.hpp>
#include <tenon/tenon.hpp>
#include <tenon/train/checkpoint.hpp>

#include "linked.hpp"
#include "mirror.hpp"
#include "serve.hpp"

namespace benchmark {

/// Seconds that this rank has spent in calls for messages: those with which ranks agree, and those of gradients; and
/// seconds that a link has taken for the bytes of gradients.
struct MessageSeconds {
  double agreement = 0, gradients = 0, link = 0;
};
/// The messages of another group, whose calls are timed.
class TimedTransport {
 public:
  TimedTransport(const tenon::dist::Communicator& group, Link link, MessageSeconds& seconds)
      : group_(group), link_(link), seconds_(seconds) {}
  int rank() const { return group_.rank(); }
  int size() const { return group_.size(); }
  bool shares_memory() const { return link_.bytes_per_second == 0 && group_.shares_memory(); }
  void start(tenon::dist::Message& message) {
    const double begin = tenon::detail::now();
    const std::span<std::byte> bytes(message.data, message.bytes);
    auto* const kept = new Kept;
    if (message.outgoing) {
      kept->inner = group_.start_own_send(message.peer, message.tag, bytes);
    } else {
      kept->inner = group_.start_own_receive(message.peer, message.tag, bytes);
      kept->due = begin;  // of a message that is under way already; both ranks start theirs at about the same time
    }
    if (link_.bytes_per_second > 0 && !message.outgoing) {
      free_ = std::max(free_, begin) + link_.seconds(message.bytes);
      kept->due = free_ + link_.latency;
      if (message.tag != tenon::dist::detail::collective_tag) seconds_.link += link_.seconds(message.bytes);
    }
    std::memcpy(&message.request[0], &kept, sizeof kept);
    spent(message) += tenon::detail::now() - begin;
  }
  bool finish(tenon::dist::Message& message, bool wait) {
    const double begin = tenon::detail::now();
    Kept* const kept = kept_of(message);
    bool is_done = tenon::detail::now() >= kept->due;
    if (wait) {
      kept->inner.wait();
      while (tenon::detail::now() < kept->due) ::sched_yield();
      is_done = true;
    } else {
      is_done = kept->inner.test() && is_done;
    }
    spent(message) += tenon::detail::now() - begin;
    if (is_done) delete kept;
    return is_done;
  }
  void give_up(tenon::dist::Message&) {}
  tenon::dist::Communicator split(int color, int key) { return group_.split(color, key); }

 private:
  struct Kept {
    tenon::dist::Pending inner;
    double due = 0;
  };
  static Kept* kept_of(const tenon::dist::Message& message) {
    Kept* kept;
    std::memcpy(&kept, &message.request[0], sizeof kept);
    return kept;
  }
  double& spent(const tenon::dist::Message& message) {
    return message.tag == tenon::dist::detail::collective_tag ? seconds_.agreement : seconds_.gradients;
  }

  tenon::dist::Communicator group_;
  Link link_;
  MessageSeconds& seconds_;
  double free_ = 0;  // when the link has received all so far
};

/// When each step ended, and what its messages had taken by then.
struct StepTimes {
  const MessageSeconds& now;
  const RankClock* clock = nullptr;  // of the rank, in place of that of the machine
  std::vector<double> losses{}, ends{};
  std::vector<MessageSeconds> messages{};
  void step_end(tenon::RunInfo& run) {
    if (losses.size() < 10) losses.push_back(run.loss());
    ends.push_back(clock ? clock->now() : tenon::detail::now());
    messages.push_back(now);
  }
  /// The mean of the fastest `count` steps in a row, after the first ten, as the values of a line of JSON.
  void print(std::size_t count) const {
    std::size_t best = 10;
    const auto seconds = [&](std::size_t end) { return ends[end] - ends[end - count]; };
    std::vector<double> all;
    for (std::size_t end = 10 + count; end < ends.size(); ++end) {
      all.push_back(seconds(end) / double(count));
      if (best == 10 || seconds(end) < seconds(best)) best = end;
    }
    std::nth_element(all.begin(), all.begin() + long(all.size() / 2), all.end());
    std::printf("{\"losses\": [");
    for (std::size_t i = 0; i < losses.size(); ++i) std::printf("%s%.17g", i ? ", " : "", losses[i]);
    const auto mean = [&](double MessageSeconds::* part) {
      return (messages[best].*part - messages[best - count].*part) / double(count);
    };
    std::printf("], \"least\": %.9g, \"median\": %.9g, \"agreement\": %.9g, \"gradients\": %.9g, \"link\": %.9g}\n",
                seconds(best) / double(count), all[all.size() / 2], mean(&MessageSeconds::agreement),
                mean(&MessageSeconds::gradients), mean(&MessageSeconds::link));
  }
};

/// How a program was started:
///     PROGRAM FOLDER BATCH SHARDS STEPS BLOCK [LATENCY_US MB_PER_S [processor] | alone RANKS]
/// SHARDS: -1 without DataParallel. STEPS: 0 writes the initial weights into the folder. Only the
/// fastest BLOCK steps in a row are measured.
///     processor  times are those of linked.hpp
///     alone      one rank of RANKS, without the others; prints what its fastest step did, after BLOCK steps
struct RanksAsked {
  std::string weights;
  long batch, steps;
  int shards;
  std::size_t block;
  Link link{};
  bool of_processor = false;
  int alone = 0;
};

/// Trains as one rank of `asked.alone`, each of which has another shard of the data, and prints the trace of a step.
template <class Net, class Loss, class Optimizer, class Data>
void trace_of_a_rank(const RanksAsked& asked, const Loss& loss, const Optimizer& optimizer, Data data_of) {
  using namespace tenon;
  Net net;
  load_checkpoint(asked.weights, net);
  RankClock clock;
  clock.begin = clock.now();
  FastestTrace trace{clock, long(asked.block)};
  const auto data = data_of(asked.batch * asked.alone) | dataset::shard({.num_shards = asked.alone, .shard_id = 0}) |
                    dataset::batch(asked.batch) | dataset::repeat(asked.steps);
  Model model{net, loss, optimizer,
              dist::DataParallel{.group = dist::Communicator::over<MirrorTransport>(asked.alone, clock, trace.now)}};
  model.train(1, data, trace);
  trace.best.print();
}

/// Trains a network on batches of data_of(batch), and prints the times of rank 0.
template <class Net, class Loss, class Optimizer, class Data>
void train_on_ranks(const RanksAsked& asked, const Loss& loss, const Optimizer& optimizer, Data data_of) {
  using namespace tenon;
  Net net;
  if (asked.steps == 0) {
    net.init_parameters();
    save_checkpoint(net, asked.weights);
    return;
  }
  if (asked.alone > 0) return trace_of_a_rank<Net>(asked, loss, optimizer, data_of);
  MessageSeconds seconds;
  RankClock clock;
  StepTimes times{seconds, asked.of_processor ? &clock : nullptr};
  times.ends.reserve(std::size_t(asked.steps)), times.messages.reserve(std::size_t(asked.steps));
  const auto data = data_of(asked.batch) | dataset::batch(asked.batch) | dataset::repeat(asked.steps);
  const auto run = [&](auto model) {
    load_checkpoint(asked.weights, net);
    model.train(1, data, times);
  };
  if (asked.shards < 0) run(Model{net, loss, optimizer});
  else {
    const dist::Communicator ranks = dist::communicator();
    const auto group = asked.of_processor ? dist::Communicator::over<LinkedTransport>(ranks, asked.link, clock)
                                          : dist::Communicator::over<TimedTransport>(ranks, asked.link, seconds);
    run(Model{net, loss, optimizer, dist::DataParallel{asked.shards, group}});
  }
  if (dist::get_rank() == 0) times.print(asked.block);
}

/// main of a program: train(asked) calls train_on_ranks.
template <class Train>
int main_of_ranks(int argc, char** argv, const char* name, Train train) try {
  if (argc < 6 || argc == 7 || argc > 9)
    return std::fprintf(stderr,
                        "usage: %s FOLDER BATCH SHARDS STEPS BLOCK [LATENCY_US MB_PER_S [processor] | alone RANKS]\n",
                        argv[0]),
           2;
  RanksAsked asked{std::string(argv[1]) + "/" + name + ".safetensors", std::atol(argv[2]), std::atol(argv[4]),
                   std::atoi(argv[3]), std::size_t(std::atol(argv[5]))};
  if (argc > 6 && argv[6] == std::string("alone")) asked.alone = std::atoi(argv[7]);
  else if (argc > 6) asked.link = {std::atof(argv[6]) * 1e-6, std::atof(argv[7]) * 1e6};
  asked.of_processor = argc == 9;
  tenon::set_context({.num_threads = 1, .seed = 1});
  if (asked.alone == 0) tenon::dist::init();
  train(asked);
  return 0;
} catch (const tenon::Error& error) {
  std::fprintf(stderr, "%s: %s\n", argv[0], error.what());
  return 1;
}

}  // namespace benchmark
