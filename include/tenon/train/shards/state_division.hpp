// StateDivision: the state of a training that ranks divide, as a training sees it that may go without.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include <tenon/dist/shard_sum.hpp>
#include <tenon/nn/optim/optimizer.hpp>
#include <tenon/nn/parameters.hpp>
#include <tenon/train/file/part_facts.hpp>
#include <tenon/train/shards/agreement.hpp>

namespace tenon::inline TENON_ABI {
class Executor;
}

namespace tenon::inline TENON_ABI::detail {

/// Where a training state has what (StateLayout).
struct StatePlaces {
  const long* numbers;                                   // of each entry; 0: it is not trained
  const long (*slot)[nn::max_slots];                     // of each entry
  int slots;                                             // per parameter
  int moments;                                           // the slots before this one are divided
  long bytes;                                            // of all
  TensorType (*type)(int slot, const TensorType& dims);  // of a slot
  const std::string_view* names;                         // of the slots
};

class DividedState;
/// The functions of DividedState. No virtual ones: g++ would compile those of the only class that has them into each
/// program.
struct DivisionCalls {
  void (*remove)(DividedState* state);
  long (DividedState::*own_bytes)() const;
  std::byte* (DividedState::*reserve)();
  const bool* (DividedState::*elsewhere)() const;
  void (DividedState::* restrict)(Executor&, const ParameterList&, const void* const*);
  void (DividedState::*exchange_weights)(const dist::detail::ShardSum&, const long*);
  bool (DividedState::*meet)(bool);
  void (DividedState::*fetch)();
  PartFacts (DividedState::*request_parts)(const std::string&);
  void (DividedState::*answer)();
  DealtBatch (DividedState::*agree_on_step)(const AgreedStep&, bool);
  bool (DividedState::*is_here)(const void*) const;
};

/// The DividedState of a training, or none: a program has its code if it asks for it.
class StateDivision {
 public:
  StateDivision() = default;
  StateDivision(DividedState* state, const DivisionCalls& calls) : state_(state), calls_(&calls) {}
  StateDivision(StateDivision&& other) noexcept : state_(std::exchange(other.state_, nullptr)), calls_(other.calls_) {}
  StateDivision& operator=(StateDivision&& other) noexcept {
    std::swap(state_, other.state_), std::swap(calls_, other.calls_);
    return *this;
  }
  ~StateDivision() {
    if (state_) calls_->remove(state_);
  }
  explicit operator bool() const { return state_ != nullptr; }
  /// Calls one of its functions: `division.call(&DivisionCalls::meet, yes)`.
  template <class F, class... A>
  auto call(F DivisionCalls::* function, A&&... arguments) const {
    return (state_->*(calls_->*function))(arguments...);
  }

 private:
  DividedState* state_ = nullptr;
  const DivisionCalls* calls_ = nullptr;
};

/// Deals the parameters to the ranks.
using DivideState = StateDivision (*)(const dist::Communicator& ranks, const ParameterList& parameters,
                                      const StatePlaces& places);
/// That of DividedState.
[[gnu::cold]] StateDivision divide_state(const dist::Communicator& ranks, const ParameterList& parameters,
                                         const StatePlaces& places);

}  // namespace tenon::detail
