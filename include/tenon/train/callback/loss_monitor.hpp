// Prints the loss while training.
#pragma once
#include <tenon/train/callback/callback.hpp>
#if TENON_DEFINES
#include <cstdio>

#include <tenon/core/float/real_text.hpp>
#endif

namespace tenon::inline TENON_ABI {

/// Prints `epoch: 1 step: 100, loss is 0.3172` every `per_print_times` steps of a training, in MindSpore's form.
class LossMonitor {
 public:
  /// Throws ValueError for a negative number; 0 prints nothing.
  explicit LossMonitor(long per_print_times = 1);
  void step_end(RunInfo& run);

 private:
  long every_;
};

#if TENON_DEFINES
TENON_INLINE_CONSTRUCTOR LossMonitor::LossMonitor(long per_print_times) : every_(per_print_times) {
  if (per_print_times < 0)
    throw_error<ValueError>("LossMonitor: per_print_times must be 0 or more, got ", per_print_times, ".");
}
TENON_INLINE void LossMonitor::step_end(RunInfo& run) {
  if (!run.training || every_ == 0 || run.cur_step_num % every_ != 0) return;
  std::printf("epoch: %ld step: %ld, loss is %s\n", run.cur_epoch_num, run.step_in_epoch(),
              detail::in_digits(run.loss(), 7).c_str());
  std::fflush(stdout);
}
#endif  // TENON_DEFINES

}  // namespace tenon
