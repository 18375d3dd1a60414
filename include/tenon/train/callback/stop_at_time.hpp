// StopAtTime: ends a training after a time.
#pragma once
#include <tenon/core/error.hpp>
#include <tenon/train/callback/run/run_info.hpp>
#include <tenon/train/step/clock.hpp>

namespace tenon::inline TENON_ABI {

/// Ends the training after the first step that is over `seconds` after its begin: `StopAtTime{.seconds = 60}`. Throws
/// ValueError when the training begins unless `seconds` is above 0.
struct StopAtTime {
  double seconds = 0;
  double begun = 0;

  void on_train_begin(RunInfo&) {
    if (!(seconds > 0)) throw_error<ValueError>("StopAtTime: seconds must be above 0, got ", seconds, ".");
    begun = detail::now();
  }
  void on_train_step_end(RunInfo& run) {
    if (detail::now() - begun > seconds) run.request_stop();
  }
};

}  // namespace tenon
