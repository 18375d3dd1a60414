// StopAtLoss: ends a training when the loss is low enough.
#pragma once
#include <tenon/train/callback/run/callback_state.hpp>
#include <tenon/train/callback/run/run_info.hpp>

namespace tenon::inline TENON_ABI {

/// Ends the training after the first step whose loss is below `loss`: `StopAtLoss{.loss = 0.05}`. A training that is
/// resumed after such a step runs no further step.
struct StopAtLoss {
  double loss = 0;
  long stopped_step = 0;  // 0: it did not

  void on_train_begin(RunInfo&) { stopped_step = 0; }
  void on_train_step_end(RunInfo& run) {
    if (!(run.loss() < loss)) return;
    stopped_step = run.cur_step_num;
    run.request_stop();
  }
  void on_train_resumed(RunInfo& run) { on_train_step_end(run); }
  void state(CallbackState& state) { state(stopped_step); }
};

}  // namespace tenon
