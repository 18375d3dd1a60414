// LambdaCallback: hooks as functions, for callbacks of one line.
#pragma once
#include <functional>
#include <utility>

#include <tenon/train/callback/run/run_info.hpp>

namespace tenon::inline TENON_ABI {

/// `LambdaCallback{.on_train_epoch_end = [](RunInfo& run) { std::printf("epoch %ld\n", run.cur_epoch_num); }}`
/// A hook without a function, such as an empty std::function, does nothing. Source: MindSpore 2 LambdaCallback, whose
/// hooks may be None.
struct LambdaCallback {
  struct Hook : std::function<void(RunInfo&)> {
    using std::function<void(RunInfo&)>::function;
    Hook(std::function<void(RunInfo&)> f) : function(std::move(f)) {}
    void operator()(RunInfo& run) const {
      if (*this) function::operator()(run);
    }
  };

  Hook on_train_begin{}, on_train_epoch_begin{}, on_train_step_begin{}, on_train_step_end{}, on_train_epoch_end{},
      on_train_end{};
  Hook on_eval_begin{}, on_eval_epoch_begin{}, on_eval_step_begin{}, on_eval_step_end{}, on_eval_epoch_end{},
      on_eval_end{};
};

}  // namespace tenon
