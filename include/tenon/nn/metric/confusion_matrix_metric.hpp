// Rates of right and wrong labels: sensitivity, specificity, and rates derived from them.
#pragma once
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include <tenon/nn/metric/count/classes.hpp>

namespace tenon::inline TENON_ABI::nn {

/// What ConfusionMatrixMetric computes, under MindSpore's names. MindSpore refuses its own name for prevalence.
enum class ConfusionRate {
  sensitivity,
  specificity,
  precision,
  negative_predictive_value,
  miss_rate,
  fall_out,
  false_discovery_rate,
  false_omission_rate,
  prevalence,
  prevalence_threshold,
  threat_score,
  accuracy,
  balanced_accuracy,
  f1_score,
  matthews_correlation_coefficient,
  fowlkes_mallows_index,
  informedness,
  markedness
};

/// Elements by prediction and label: true positive is 1 that is 1, false negative 0 that is 1.
struct ConfusionCounts {
  double true_positive = 0, false_positive = 0, true_negative = 0, false_negative = 0;

  /// NaN where it would divide by 0.
  double rate(ConfusionRate wanted) const {
    const double tp = true_positive, fp = false_positive, tn = true_negative, fn = false_negative;
    const auto part = [](double a, double b) { return b == 0 ? std::numeric_limits<double>::quiet_NaN() : a / b; };
    const double tpr = part(tp, tp + fn), tnr = part(tn, tn + fp), ppv = part(tp, tp + fp), npv = part(tn, tn + fn);
    switch (wanted) {
      case ConfusionRate::sensitivity: return tpr;
      case ConfusionRate::specificity: return tnr;
      case ConfusionRate::precision: return ppv;
      case ConfusionRate::negative_predictive_value: return npv;
      case ConfusionRate::miss_rate: return part(fn, tp + fn);
      case ConfusionRate::fall_out: return part(fp, tn + fp);
      case ConfusionRate::false_discovery_rate: return part(fp, tp + fp);
      case ConfusionRate::false_omission_rate: return part(fn, tn + fn);
      case ConfusionRate::prevalence: return part(tp + fn, tp + fp + tn + fn);
      case ConfusionRate::prevalence_threshold: return part(std::sqrt(tpr * (1 - tnr)) + tnr - 1, tpr + tnr - 1);
      case ConfusionRate::threat_score: return part(tp, tp + fn + fp);
      case ConfusionRate::accuracy: return part(tp + tn, tp + fp + tn + fn);
      case ConfusionRate::balanced_accuracy: return (tpr + tnr) / 2;
      case ConfusionRate::f1_score: return part(2 * tp, 2 * tp + fn + fp);
      case ConfusionRate::matthews_correlation_coefficient:
        return part(tp * tn - fp * fn, std::sqrt((tp + fp) * (tp + fn) * (tn + fp) * (tn + fn)));
      case ConfusionRate::fowlkes_mallows_index: return std::sqrt(ppv * tpr);
      case ConfusionRate::informedness: return tpr + tnr - 1;
      case ConfusionRate::markedness: return ppv + npv - 1;
    }
    return 0;
  }
};

/// first_channel  false leaves out class 0, the background, if there are more. MindSpore's skip_channel, whose True
///                leaves out nothing, so that it counts by default
/// per_sample     false: the rate of all elements of all updates. true: the mean over samples of their means over
///                classes, where the rate of a class of a sample is defined; not for [n, C] and [n, C, 1], which have
///                one element for each. MindSpore's calculation_method with decrease "mean", the only value that works
///                there
struct ConfusionMetricOptions {
  bool first_channel = true;
  bool per_sample = false;
};

/// A rate of the confusion matrix of 0 and 1: `ConfusionMatrixMetric{ConfusionRate::specificity}`.
///
/// prediction, label  [n, C, ...] of one shape and any dtype, 0 or 1
/// source             MindSpore nn.ConfusionMatrixMetric
class ConfusionMatrixMetric {
 public:
  static constexpr std::string_view name = "confusion_matrix_metric";
  explicit ConfusionMatrixMetric(ConfusionRate rate = ConfusionRate::sensitivity, ConfusionMetricOptions options = {})
      : rate_(rate), options_(options) {}

  /// Why predictions and labels of these types cannot be judged; empty if they can.
  static constexpr Sentence check(const TensorType& prediction, const TensorType& label) {
    return wrong_label_sets("ConfusionMatrixMetric", prediction, label);
  }

  void clear() { all_ = {}, sum_ = 0, samples_ = 0, elements_ = classes_ = 0; }
  /// Throws ValueError with the sentence of check(), for elements that are not 0 or 1, and for another number of
  /// classes than before.
  void update(const AnyTensor& prediction, const AnyTensor& label) {
    const bool each_sample = rates_per_sample(prediction);
    std::vector<ConfusionCounts> counts;
    detail::each_label("ConfusionMatrixMetric", prediction, label, classes_,
                       [&](long row, long c, bool predicted, bool wanted) {
                         if (c == 0 && !options_.first_channel && classes_ > 1) return;
                         const long inner = prediction.count() / (prediction.extent[0] * classes_);
                         const long at = each_sample ? row / inner * classes_ + c : 0;
                         if (static_cast<std::size_t>(at) >= counts.size())
                           counts.resize(static_cast<std::size_t>(at) + 1);
                         ConfusionCounts& count = counts[static_cast<std::size_t>(at)];
                         (wanted      ? predicted ? count.true_positive : count.false_negative
                          : predicted ? count.false_positive
                                      : count.true_negative) += 1;
                         ++elements_;
                       });
    if (each_sample) add_samples(counts);
    else if (!counts.empty()) add(counts[0]);
  }
  /// NaN where the rate is not defined. Throws RuntimeError if nothing was counted.
  double eval() const {
    detail::share("ConfusionMatrixMetric", 0, double(elements_));
    if (samples_ > 0) return sum_ / samples_;
    return all_.rate(rate_);
  }

 private:
  bool rates_per_sample(const AnyTensor& t) const {
    return options_.per_sample && t.rank > 2 && !(t.rank == 3 && t.extent[2] == 1);
  }
  void add(const ConfusionCounts& c) {
    all_.true_positive += c.true_positive;
    all_.false_positive += c.false_positive;
    all_.true_negative += c.true_negative;
    all_.false_negative += c.false_negative;
  }
  void add_samples(const std::vector<ConfusionCounts>& counts) {
    for (std::size_t sample = 0; sample < counts.size(); sample += static_cast<std::size_t>(classes_)) {
      double sum = 0, defined = 0;
      for (std::size_t i = sample; i < std::min(counts.size(), sample + static_cast<std::size_t>(classes_)); ++i)
        if (const double rate = counts[i].rate(rate_); !std::isnan(rate)) sum += rate, defined += 1;
      if (defined > 0) sum_ += sum / defined, samples_ += 1;
    }
  }

  ConfusionRate rate_;
  ConfusionMetricOptions options_;
  ConfusionCounts all_;
  double sum_ = 0, samples_ = 0;
  long elements_ = 0, classes_ = 0;
};

}  // namespace tenon::nn
