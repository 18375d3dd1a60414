// Monitor: a number that callbacks watch from epoch to epoch, and the direction in which it improves.
#pragma once
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <tenon/train/callback/run/callback_state.hpp>
#include <tenon/train/callback/run/run_info.hpp>
#include <tenon/train/eval_result.hpp>
#if TENON_DEFINES
#include <algorithm>

#include <tenon/core/log/log.hpp>
#endif

namespace tenon::inline TENON_ABI {

/// The direction in which a monitored number improves. automatic: smaller is better for losses, errors, and distances,
/// larger for Tenon's other metrics, by the class of the metric or by the end of the name, as in "sine_mae". For other
/// custom metrics choose min or max.
enum class MonitorMode { automatic, min, max };

namespace detail {
/// The best value of a monitored number so far.
class Monitor {
 public:
  /// caller: for messages. Throws ValueError for a min_delta that is negative or not finite, for a name that this run
  /// has no number of, and if neither the name nor the mode determines the direction.
  void begin(std::string_view caller, const std::string& name, MonitorMode mode, double min_delta, const RunInfo& run);
  /// For a further run with the same best number. Throws as begin() for a name that the run has no number of.
  void begin_again(const RunInfo& run);
  /// The number in this epoch_end: a result of the evaluation by fit(), or, for "loss", the loss of the last step if
  /// there was none. Warns once if there is no such number.
  std::optional<double> value(const RunInfo& run);
  /// Whether it is better than `than` by more than min_delta.
  bool better(double value, double than) const { return less_ ? value < than - min_delta_ : value > than + min_delta_; }
  /// The same compared with the best number so far, which it then replaces.
  bool improves(double value) {
    const bool improved = better(value, best_);
    if (improved) best_ = value;
    return improved;
  }
  double best() const { return best_; }
  /// Whether it was begun for this.
  bool watches(const std::string& name, MonitorMode mode) const { return name_ == name && mode_ == mode; }
  void state(CallbackState& state) { state(best_); }

 private:
  std::string_view caller_;
  std::string name_;
  MonitorMode mode_ = MonitorMode::automatic;
  bool less_ = true, warned_ = false;
  double min_delta_ = 0, best_ = 0;
};

#if TENON_DEFINES
/// The direction of MonitorMode::automatic for a name, or for the class of its metric, from MindSpore's list. For all
/// other names MindSpore assumes that larger is better; Tenon does so only for its own metrics, and other names need a
/// mode.
[[gnu::cold]] TENON_INLINE bool less_is_better(std::string_view caller, std::string_view name, std::string_view kind) {
  constexpr std::string_view smaller =
      "loss mae mse perplexity hausdorff_distance mean_surface_distance root_mean_square_distance error rmse";
  constexpr std::string_view larger =
      "accuracy acc precision recall F1 f1 fbeta dice auc roc topk top_k top_1_accuracy top_5_accuracy bleu_score "
      "cosine_similarity multilabel_accuracy multilabel_precision multilabel_recall";
  const auto ends_with_one = [](std::string_view all, const std::vector<std::string>& known) {
    return std::any_of(known.begin(), known.end(), [&](const std::string& one) {
      return all == one || (all.ends_with(one) && all[all.size() - one.size() - 1] == '_');
    });
  };
  std::vector<std::string> known = words(smaller);
  const std::vector<std::string> others = words(larger);
  for (const std::string_view way : {kind, name}) {
    if (ends_with_one(way, known)) return true;
    if (ends_with_one(way, others)) return false;
  }
  known.insert(known.end(), others.begin(), others.end());
  throw_error<ValueError>(caller, ": whether less or more '", name,
                          "' is better cannot be told by its name: add .mode = MonitorMode::min or MonitorMode::max.",
                          did_you_mean(name, known));
}
/// The name of the class of the metric that gives the number `name`; refuses a number that the run does not have.
[[gnu::cold]] TENON_INLINE std::string monitored_kind(std::string_view caller, const std::string& name,
                                                      const RunInfo& run) {
  MonitoredNames all;
  const bool complete = run.monitored_names && run.monitored_names(run, all);
  if (run.in_fit) all.push_back({"eval_loss", "loss"});
  else all = {{"loss", "loss"}};
  std::vector<std::string> names;
  for (const auto& [known, kind] : all) {
    if (known == name) return kind;
    names.push_back(known);
  }
  if (complete)
    throw_error<ValueError>(
        caller, ": there is no '", name, "' to monitor: ",
        run.in_fit ? text("the evaluations of fit give ", quoted_list(names), ".", did_you_mean(name, names))
                   : "train evaluates nothing; use model.fit(epochs, data, valid, ...), or monitor \"loss\".");
  return name;
}
TENON_INLINE void Monitor::begin(std::string_view caller, const std::string& name, MonitorMode mode, double min_delta,
                                 const RunInfo& run) {
  if (!(min_delta >= 0 && min_delta <= std::numeric_limits<double>::max()))
    throw_error<ValueError>(caller, ": min_delta must be a finite number, 0 or more, got ", min_delta, ".");
  const std::string kind = monitored_kind(caller, name, run);
  caller_ = caller, name_ = name, mode_ = mode, min_delta_ = min_delta, warned_ = false;
  less_ = mode == MonitorMode::automatic ? less_is_better(caller, name, kind) : mode == MonitorMode::min;
  best_ = less_ ? std::numeric_limits<double>::infinity() : -std::numeric_limits<double>::infinity();
}
TENON_INLINE void Monitor::begin_again(const RunInfo& run) {
  monitored_kind(caller_, name_, run);
  warned_ = false;
}
TENON_INLINE std::optional<double> Monitor::value(const RunInfo& run) {
  if (run.eval_results)
    if (const double* found = run.eval_results->find(name_)) return *found;
  if (!run.in_fit && name_ == "loss") return run.loss();
  if (!warned_ && (run.eval_results || !run.in_fit)) {
    std::vector<std::string> names;
    if (run.eval_results)
      for (const auto& [known, value] : *run.eval_results) names.push_back(known);
    logging::warning(caller_, ": there is no '", name_, "' to monitor at the end of epoch ", run.cur_epoch_num,
                     run.in_fit ? text(", the evaluation gives ", quoted_list(names), ".", did_you_mean(name_, names))
                                : ": evaluate with model.fit(epochs, data, valid, ...), or monitor \"loss\".");
    warned_ = true;
  }
  return {};
}
#endif  // TENON_DEFINES
}  // namespace detail

}  // namespace tenon
