// The random numbers of a turn of a loop in PyNative mode.
#pragma once
#include <tenon/call/frame.hpp>
#include <tenon/core/random/philox.hpp>

namespace tenon::inline TENON_ABI::ops::detail {

/// The random numbers of a turn in PyNative mode: those that the graph draws.
class TurnRandom {
 public:
  TurnRandom() : frame_(eager::Frame::of_thread()), outer_(frame_.random_state), streams_(frame_.streams) {}
  ~TurnRandom() { frame_.random_state = outer_; }
  TurnRandom(const TurnRandom&) = delete;
  TurnRandom& operator=(const TurnRandom&) = delete;
  void begin(long turn) {
    if (!outer_) return;
    turn_random_state(state_, outer_, turn);
    frame_.random_state = state_;
    frame_.streams = streams_;
  }

 private:
  eager::Frame& frame_;
  std::uint64_t* const outer_;
  const Streams streams_;  // the calls of each turn have the numbers of the first one's
  std::uint64_t state_[2]{};
};

}  // namespace tenon::ops::detail
