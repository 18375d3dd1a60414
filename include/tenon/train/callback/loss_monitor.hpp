// Prints the loss while training.
#pragma once
#include <tenon/train/callback/callback.hpp>
#if TENON_DEFINES
#include <cstdio>

#include <tenon/core/float/real_text.hpp>
#include <tenon/train/eval_result.hpp>
#endif

namespace tenon::inline TENON_ABI {

/// Prints `epoch: 1 step: 100, loss is 0.3172` every `per_print_times` steps of a training, in MindSpore's form, and
/// under fit() `Eval result: epoch 1, metrics: {'accuracy': 0.97}`.
class LossMonitor {
 public:
  static constexpr bool writes = true;

  /// Throws ValueError for a negative number; 0 prints nothing.
  explicit LossMonitor(long per_print_times = 1);
  void step_end(RunInfo& run);
  void epoch_end(RunInfo& run);

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
TENON_INLINE void LossMonitor::epoch_end(RunInfo& run) {
  if (!run.eval_results) return;
  std::string metrics;
  for (const auto& [name, value] : *run.eval_results)
    if (name != "eval_loss") metrics += text(metrics.empty() ? "'" : ", '", name, "': ", detail::in_digits(value, 7));
  std::printf("Eval result: epoch %ld, metrics: {%s}\n", run.cur_epoch_num, metrics.c_str());
  std::fflush(stdout);
}
#endif  // TENON_DEFINES

}  // namespace tenon
