// Progress: the position of a training, which a checkpoint saves and from which another run can continue.
#pragma once
#include <limits>
#include <utility>

#include <tenon/train/callback/run/snapshot.hpp>

namespace tenon::inline TENON_ABI::detail {

/// How far the runs of a Model have come. What the numbers count is complete: a step when its update is done, an epoch
/// when its last hook was called.
struct Progress {
  static constexpr double no_loss = std::numeric_limits<double>::quiet_NaN();
  long dataset_epoch = 0;  // of all runs: the order in which shuffled data comes now or next
  long epochs = 0;         // of this run
  long steps = 0;          // of the epoch after these
  long run_steps = 0;      // of this run
  bool running = false;
  bool resumed = false;  // the next run continues where these numbers are

  double loss = no_loss;    // of the last step before it was resumed, NaN: there was none
  CallbackStates states{};  // that a file had, until the callbacks of the next run have loaded them
  void (*collect)(const void* callbacks, CallbackStates&) = nullptr;  // of this run's callbacks
  const CallbackStates* before_epoch_end = nullptr;  // what they had counted when the hooks of an epoch's end began
  void (*give_weights)(const void* callbacks) = nullptr;
  const void* callbacks = nullptr;
  const Snapshot* own = nullptr;  // the training's weights while the network has others, which a file does not get

  void step() { ++steps, ++run_steps; }
  void end_epoch() { ++dataset_epoch, ++epochs, steps = 0; }
};

/// The hooks of an epoch's end. A file that one of them saves is resumed before they were called, so it gets what the
/// callbacks had counted then, whatever their order.
class EpochEndHooks {
 public:
  explicit EpochEndHooks(Progress& progress) : progress_(progress) {
    if (progress.collect) progress.collect(progress.callbacks, states_), progress.before_epoch_end = &states_;
  }
  ~EpochEndHooks() { progress_.before_epoch_end = nullptr; }
  EpochEndHooks(const EpochEndHooks&) = delete;
  EpochEndHooks& operator=(const EpochEndHooks&) = delete;

 private:
  Progress& progress_;
  CallbackStates states_;
};

/// A run from its begin to its end, however it ends.
template <class Callbacks>
class Running {
 public:
  Running(Progress& progress, const Callbacks& callbacks) : progress_(progress) {
    if (!progress.resumed) progress.epochs = progress.steps = progress.run_steps = 0;
    refused_resumed_ = std::exchange(progress.resumed, false), progress.running = true;
    if constexpr (Callbacks::any_state || Callbacks::any_weights) progress.callbacks = &callbacks;
    if (!refused_resumed_) collect_states();
    if constexpr (Callbacks::any_weights)
      progress.give_weights = [](const void* list) { static_cast<const Callbacks*>(list)->give_weights(); };
  }
  /// All callbacks agree to the run. One that ends before leaves what was to be resumed to the next. Until then a file
  /// that a hook saves gets the states that are to be loaded, not those of callbacks that have just begun.
  void begin() {
    refused_resumed_ = false;
    progress_.states.clear();
    collect_states();
  }
  /// The network gets other weights at the end of the run.
  void keep_own(const ParameterList& parameters) requires(Callbacks::any_turn)
  {
    own_.take(parameters);
    progress_.own = &own_;
  }
  ~Running() {
    progress_.running = false, progress_.collect = nullptr, progress_.give_weights = nullptr;
    progress_.own = nullptr, progress_.resumed = refused_resumed_;
    if (refused_resumed_) return;
    if (progress_.steps > 0) ++progress_.dataset_epoch;  // an epoch that was left begins anew with another order
    progress_.steps = 0;
    progress_.states.clear(), progress_.loss = Progress::no_loss;
  }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

 private:
  void collect_states() {
    if constexpr (Callbacks::any_state)
      progress_.collect = [](const void* list, CallbackStates& states) {
        static_cast<const Callbacks*>(list)->save_states(states);
      };
  }

  Progress& progress_;
  bool refused_resumed_ = false;
  [[no_unique_address]] std::conditional_t<Callbacks::any_turn, Snapshot, NoConfig> own_{};
};

}  // namespace tenon::detail
