// One rank of many without the others, for benchmarks/simulate.py: what it sends and receives in a step, and when.
#pragma once
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include <tenon/dist.hpp>
#include <tenon/tenon.hpp>

#include "linked.hpp"

namespace benchmark {

/// What a rank did in a step, in its own time: without what the transport took.
struct RankTrace {
  /// A bucket of gradients: when its messages started, their number and the bytes that arrive, and what it took to add
  /// them up; then the same for its sums.
  struct Bucket {
    double ready = 0, add = 0;
    long messages = 0, bytes = 0, sum_messages = 0, sum_bytes = 0;
  };
  long agreed_messages = 0, agreed_bytes = 0;  // before the step
  double computed = 0, end = 0;                // when the last kernel, and the step ended
  std::vector<double> polls;                   // when messages can make progress
  std::vector<Bucket> buckets;

  void print() const {
    std::printf("{\"agreed_messages\": %ld, \"agreed_bytes\": %ld, \"computed\": %.9g, \"end\": %.9g", agreed_messages,
                agreed_bytes, computed, end);
    std::printf(", \"polls\": [");
    for (std::size_t i = 0; i < polls.size(); ++i) std::printf("%s%.9g", i ? ", " : "", polls[i]);
    std::printf("], \"buckets\": [");
    for (std::size_t i = 0; i < buckets.size(); ++i)
      std::printf("%s{\"ready\": %.9g, \"messages\": %ld, \"bytes\": %ld, \"add\": %.9g, \"sum_messages\": %ld, "
                  "\"sum_bytes\": %ld}",
                  i ? ", " : "", buckets[i].ready, buckets[i].messages, buckets[i].bytes, buckets[i].add,
                  buckets[i].sum_messages, buckets[i].sum_bytes);
    std::printf("]}\n");
  }
};

/// The other ranks are taken to have what this one has, and other shards of the data. In a collective, each of them
/// answers with what this rank has sent to it. Gradients arrive at once, and are zeros. A message arrives only when the
/// rank waits for it, so that each earlier look at it is recorded. The clock is read once for many messages.
class MirrorTransport {
 public:
  MirrorTransport(int ranks, const RankClock& clock, RankTrace& trace)
      : ranks_(ranks), clock_(clock), trace_(trace), sent_(std::size_t(ranks)) {}
  int rank() const { return 0; }
  int size() const { return ranks_; }
  void start(tenon::dist::Message& message) {
    if (!is_agreement(message)) return count(message);
    if (message.outgoing)
      sent_[std::size_t(message.peer)].emplace_back(reinterpret_cast<const char*>(message.data), message.bytes);
    else trace_.agreed_bytes += long(message.bytes);
    ++trace_.agreed_messages;
  }
  bool finish(tenon::dist::Message& message, bool wait) {
    if (is_agreement(message)) {
      if (!message.outgoing) take(message);
      return true;
    }
    if (!wait) {
      trace_.polls.push_back(clock_.now());
      return false;
    }
    if (waits_++ % of_bucket() == 0) waited_ = clock_.now();
    if (trace_.computed == 0) trace_.computed = waited_;
    return true;
  }
  void give_up(tenon::dist::Message&) {}
  tenon::dist::Communicator split(int, int) { return {}; }

 private:
  static bool is_agreement(const tenon::dist::Message& message) {
    return message.tag == tenon::dist::detail::collective_tag;
  }
  // Messages of a bucket's slices, or of its sums.
  long of_bucket() const { return 2 * (ranks_ - 1); }
  // A message of gradients. The slices of a bucket start together, before those of the next one; so do the sums.
  void count(const tenon::dist::Message& message) {
    std::vector<RankTrace::Bucket>& buckets = trace_.buckets;
    if (buckets.empty()) slices_ = sums_ = waits_ = 0;
    const bool is_sum = trace_.computed > 0;
    const long at = (is_sum ? sums_ : slices_)++ / of_bucket();
    if (long(buckets.size()) <= at) buckets.push_back({clock_.now()});
    RankTrace::Bucket& bucket = buckets[std::size_t(at)];
    if (is_sum && bucket.sum_messages == 0) bucket.add = clock_.now() - waited_;
    ++(is_sum ? bucket.sum_messages : bucket.messages);
    if (message.outgoing) return;
    (is_sum ? bucket.sum_bytes : bucket.bytes) += long(message.bytes);
    if (is_first_step_) std::memset(message.data, 0, message.bytes);  // they stay zeros
    if (is_sum && at + 1 == long(buckets.size())) is_first_step_ = false;
  }
  // From a rank arrives what this one has sent to it before.
  void take(const tenon::dist::Message& message) {
    std::vector<std::string>& sent = sent_[std::size_t(message.peer)];
    std::memcpy(message.data, sent.front().data(), message.bytes);
    if (tenon::detail::AgreedRun run; message.bytes == sizeof run) {
      std::memcpy(&run, message.data, sizeof run);
      run.shard_id = message.peer;
      std::memcpy(message.data, &run, sizeof run);
    }
    sent.erase(sent.begin());
  }

  int ranks_;
  const RankClock& clock_;
  RankTrace& trace_;
  std::vector<std::vector<std::string>> sent_;
  bool is_first_step_ = true;
  long slices_ = 0, sums_ = 0, waits_ = 0;
  double waited_ = 0;  // when the waits for a bucket began
};

/// Keeps the trace of the fastest step after the first ones.
struct FastestTrace {
  RankClock& clock;
  long first, steps = 0;
  RankTrace now{}, best{};

  void step_end(tenon::RunInfo&) {
    now.end = clock.now();
    if (++steps > first && (best.end == 0 || now.end < best.end)) best = now;
    now = {};
    clock.begin += clock.now();
  }
};

}  // namespace benchmark
