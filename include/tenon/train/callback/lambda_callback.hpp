// LambdaCallback: hooks as functions, for callbacks of one line.
#pragma once
#include <functional>

#include <tenon/train/callback/run/run_info.hpp>

namespace tenon::inline TENON_ABI {

/// `LambdaCallback{.on_train_epoch_end = [](RunInfo& run) { std::printf("epoch %ld\n", run.cur_epoch_num); }}`
/// Source: MindSpore 2 LambdaCallback.
struct LambdaCallback {
  using Hook = std::function<void(RunInfo&)>;
  static void nothing(RunInfo&) {}

  Hook on_train_begin = nothing, on_train_epoch_begin = nothing, on_train_step_begin = nothing,
       on_train_step_end = nothing, on_train_epoch_end = nothing, on_train_end = nothing;
  Hook on_eval_begin = nothing, on_eval_epoch_begin = nothing, on_eval_step_begin = nothing, on_eval_step_end = nothing,
       on_eval_epoch_end = nothing, on_eval_end = nothing;
};

}  // namespace tenon
