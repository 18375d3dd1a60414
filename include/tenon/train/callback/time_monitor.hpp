// Prints how long each epoch took.
#pragma once
#include <tenon/core/math/min_max.hpp>
#include <tenon/train/callback/callback.hpp>
#if TENON_DEFINES
#include <cstdio>

#include <tenon/core/float/real_text.hpp>
#include <tenon/train/step/clock.hpp>
#endif

namespace tenon::inline TENON_ABI {

/// Prints `epoch time: 1234.567 ms, per step time: 1.234 ms` after every epoch, in MindSpore's form.
///
/// The time runs from epoch_begin to epoch_end, so it contains what callbacks do in between; it is divided by the steps
/// of the epoch, in an epoch that was stopped or resumed by those that ran. Callbacks run in the order of the list: put
/// it first to exclude the time of other callbacks at the end of an epoch.
class TimeMonitor {
 public:
  static constexpr bool writes = true;

  void epoch_begin(RunInfo& run);
  void epoch_end(RunInfo& run);

 private:
  double start_ = 0;
  long before_ = 0;  // steps of the epoch before it was resumed
};

#if TENON_DEFINES
TENON_INLINE void TimeMonitor::epoch_begin(RunInfo& run) {
  before_ = run.step_in_epoch();
  start_ = detail::now();
}
TENON_INLINE void TimeMonitor::epoch_end(RunInfo& run) {
  const double milliseconds = (detail::now() - start_) * 1000;
  const double per_step = milliseconds / static_cast<double>(math::max(run.step_in_epoch() - before_, 1L));
  std::printf("epoch time: %s ms, per step time: %s ms\n", detail::in_fixed_digits(milliseconds, 3).c_str(),
              detail::in_fixed_digits(per_step, 3).c_str());
  std::fflush(stdout);
}
#endif  // TENON_DEFINES

}  // namespace tenon
