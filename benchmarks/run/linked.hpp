// Real ranks in the time of their processors, for benchmarks/simulate.py: what else runs on the machine does not count.
#pragma once
#include <time.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include <tenon/dist.hpp>

namespace benchmark {

/// A network: a message arrives when it did anyway, and no sooner than its latency and its bytes take. What a link of
/// a rank receives comes one message after the other.
struct Link {
  double latency = 0, bytes_per_second = 0;  // 0 bytes: as fast as it is

  double seconds(std::size_t bytes) const { return bytes_per_second > 0 ? double(bytes) / bytes_per_second : 0; }
};

/// The time of a rank: what its thread has computed, without what the transport took, and what it has waited.
struct RankClock {
  double spent = 0, waited = 0, begin = 0;

  static double processor() {
    timespec time{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return double(time.tv_sec) + double(time.tv_nsec) * 1e-9;
  }
  double now() const { return processor() - spent + waited - begin; }
};
/// Time until the end of the scope that does not count.
class OutOfTime {
 public:
  explicit OutOfTime(RankClock& clock) : clock_(clock), begin_(RankClock::processor()) {}
  ~OutOfTime() { clock_.spent += RankClock::processor() - begin_; }
  OutOfTime(const OutOfTime&) = delete;

 private:
  RankClock& clock_;
  double begin_;
};

/// The messages of another group, each with the time at which its sender started it. Whether one has arrived is a
/// matter of these times: a rank that looks at one waits until it is there, and the clock stands still.
class LinkedTransport {
 public:
  LinkedTransport(const tenon::dist::Communicator& group, Link link, RankClock& clock)
      : group_(group), link_(link), clock_(clock) {}
  int rank() const { return group_.rank(); }
  int size() const { return group_.size(); }
  void start(tenon::dist::Message& message) {
    const double now = clock_.now();
    const OutOfTime out(clock_);
    auto* const kept = new Kept;
    const std::span<std::byte> bytes(message.data, message.bytes), stamp(kept->stamp, sizeof kept->stamp);
    const int stamp_tag = message.tag + 64;
    if (message.outgoing) {
      std::memcpy(kept->stamp, &now, sizeof now);
      kept->inner = group_.start_own_send(message.peer, message.tag, bytes);
      kept->when = group_.start_own_send(message.peer, stamp_tag, stamp);
    } else {
      kept->bytes = message.bytes;
      kept->inner = group_.start_own_receive(message.peer, message.tag, bytes);
      kept->when = group_.start_own_receive(message.peer, stamp_tag, stamp);
      arriving_.push_back(kept);
    }
    std::memcpy(&message.request[0], &kept, sizeof kept);
  }
  bool finish(tenon::dist::Message& message, bool wait) {
    const double now = clock_.now();
    const OutOfTime out(clock_);
    Kept* const kept = kept_of(message);
    if (!message.outgoing) {
      while (kept->due < 0) take_next();
      if (kept->due > now && !wait) return false;
      clock_.waited += std::max(0.0, kept->due - now);
    }
    kept->inner.wait();
    kept->when.wait();
    delete kept;
    return true;
  }
  void give_up(tenon::dist::Message&) {}
  tenon::dist::Communicator split(int color, int key) { return group_.split(color, key); }

 private:
  struct Kept {
    tenon::dist::Pending inner, when;
    std::byte stamp[sizeof(double)];
    std::size_t bytes = 0;
    double due = -1;
  };
  static Kept* kept_of(const tenon::dist::Message& message) {
    Kept* kept;
    std::memcpy(&kept, &message.request[0], sizeof kept);
    return kept;
  }
  // The link has them in the order in which this rank has asked for them.
  void take_next() {
    Kept& next = *arriving_[taken_++];
    next.when.wait();
    double sent;
    std::memcpy(&sent, next.stamp, sizeof sent);
    free_ = std::max(free_, sent) + link_.seconds(next.bytes);
    next.due = free_ + link_.latency;
    if (taken_ == arriving_.size()) arriving_.clear(), taken_ = 0;
  }

  tenon::dist::Communicator group_;
  Link link_;
  RankClock& clock_;
  std::vector<Kept*> arriving_;
  std::size_t taken_ = 0;
  double free_ = 0;  // when the link has received all so far
};

}  // namespace benchmark
