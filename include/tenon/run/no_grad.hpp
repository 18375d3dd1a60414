// The scope in which nothing is recorded.
#pragma once
#include <utility>

#include <tenon/core/config.hpp>

namespace tenon::inline TENON_ABI::eager {

class Tape;

/// The tape that records the operators of this thread, or null.
inline Tape*& active_tape() {
  thread_local Tape* tape = nullptr;
  return tape;
}

/// Nothing is recorded in this scope, as in torch.no_grad().
class NoGrad {
 public:
  NoGrad() : tape_(std::exchange(active_tape(), nullptr)) {}
  ~NoGrad() { active_tape() = tape_; }
  NoGrad(const NoGrad&) = delete;
  NoGrad& operator=(const NoGrad&) = delete;

 private:
  Tape* tape_;
};

/// True while calls are run again for a backward pass (call/recomputation.hpp): their effects have happened.
inline bool& runs_again() {
  thread_local bool again = false;
  return again;
}

}  // namespace tenon::eager
