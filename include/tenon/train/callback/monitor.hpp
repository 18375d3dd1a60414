// Monitor: a number that callbacks watch from epoch to epoch, and which way it gets better.
#pragma once
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include <tenon/train/callback/callback_state.hpp>
#include <tenon/train/callback/run_info.hpp>
#include <tenon/train/eval_result.hpp>
#if TENON_DEFINES
#include <algorithm>

#include <tenon/core/log.hpp>
#endif

namespace tenon::inline TENON_ABI {

/// Which way a monitored number gets better. automatic: losses, errors, and distances are the better the smaller, all
/// others the larger.
enum class MonitorMode { automatic, min, max };

namespace detail {
/// The best value of a monitored number so far.
class Monitor {
 public:
  /// caller: for messages. Throws ValueError for a min_delta that is negative or not finite.
  void begin(std::string_view caller, const std::string& name, MonitorMode mode, double min_delta);
  /// The number in this epoch_end: a result of the evaluation by fit(), or, for "loss", the loss of the last step if
  /// there was none. Says once in a warning if there is no such number.
  std::optional<double> value(const RunInfo& run);
  /// Whether it is better than `than` by more than min_delta.
  bool better(double value, double than) const { return less_ ? value < than - min_delta_ : value > than + min_delta_; }
  /// The same for the best one so far, which it becomes.
  bool improves(double value) {
    const bool improved = better(value, best_);
    if (improved) best_ = value;
    return improved;
  }
  double best() const { return best_; }
  void state(CallbackState& state) { state(best_); }

 private:
  std::string_view caller_;
  std::string name_;
  bool less_ = true, warned_ = false;
  double min_delta_ = 0, best_ = 0;
};

#if TENON_DEFINES
TENON_INLINE void Monitor::begin(std::string_view caller, const std::string& name, MonitorMode mode, double min_delta) {
  // MindSpore's list, with and without the prefix of fit's evaluation
  constexpr std::string_view smaller[]{"loss",
                                       "eval_loss",
                                       "mae",
                                       "mse",
                                       "perplexity",
                                       "hausdorff_distance",
                                       "mean_surface_distance",
                                       "root_mean_square_distance"};
  if (!(min_delta >= 0 && min_delta <= std::numeric_limits<double>::max()))
    throw_error<ValueError>(caller, ": min_delta must be a finite number, 0 or more, got ", min_delta, ".");
  caller_ = caller, name_ = name, min_delta_ = min_delta, warned_ = false;
  less_ = mode == MonitorMode::automatic ? std::find(std::begin(smaller), std::end(smaller), name) != std::end(smaller)
                                         : mode == MonitorMode::min;
  best_ = less_ ? std::numeric_limits<double>::infinity() : -std::numeric_limits<double>::infinity();
}
TENON_INLINE std::optional<double> Monitor::value(const RunInfo& run) {
  if (run.eval_results)
    if (const double* found = run.eval_results->find(name_)) return *found;
  if (!run.in_fit && name_ == "loss") return run.loss();
  if (!warned_ && (run.eval_results || !run.in_fit)) {
    logging::warning(caller_, ": there is no '", name_, "' to monitor at the end of epoch ", run.cur_epoch_num,
                     run.in_fit ? ": name a metric of the Model, or \"eval_loss\"."
                                : ": evaluate with model.fit(epochs, data, valid, ...), or monitor \"loss\".");
    warned_ = true;
  }
  return {};
}
#endif  // TENON_DEFINES
}  // namespace detail

}  // namespace tenon
