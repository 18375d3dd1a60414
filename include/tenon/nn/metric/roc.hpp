// Receiver operating characteristic: true and false positive rates for each threshold.
#pragma once
#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <vector>

#include <tenon/nn/metric/count/classes.hpp>

namespace tenon::inline TENON_ABI::nn {

/// The rates of predictions at or above each threshold: false positives among the negatives (fpr), true positives among
/// the positives (tpr). The first threshold is above all predictions.
struct RocCurve {
  std::vector<double> fpr, tpr, thresholds;
};

/// pos_label   the label of positives, for predictions like the labels; 1 by default
/// accumulate  false: an update replaces the previous update, as in MindSpore, so a Model's eval() covers only the last
///             batch. true: all updates since clear() count
struct RocOptions {
  std::optional<long> pos_label{};
  bool accumulate = false;
};

/// The curve of a prediction, or of each class against all others.
///
/// prediction  like the label, how sure a sample is positive; or [n, ..., C] or [n, C, ...], how sure it is of each
///             class. MindSpore reads the elements of [n, C] as if they were [C, n]; not copied
/// label       [n, ...]
/// source      MindSpore nn.ROC
class ROC {
 public:
  static constexpr std::string_view name = "roc";
  explicit ROC(RocOptions options = {}) : options_(options) {}

  void clear() { scores_.clear(), labels_.clear(), classes_ = 0; }
  /// Throws ValueError for shapes that do not fit, for a pos_label with several classes, for predictions that are NaN,
  /// and, if it accumulates, for another number of classes than before.
  void update(const AnyTensor& prediction, const AnyTensor& label) {
    const long classes = classes_of(prediction, label);
    if (!options_.accumulate) clear();
    if (classes_ != 0 && classes != classes_)
      throw_error<ValueError>("ROC got predictions of ", classes, " classes after some of ", classes_,
                              ": call clear() before it judges another network.");
    const bool classes_last = class_axis(prediction, label) != 1;
    const std::int64_t places = label.count(), inner = classes_last ? 1 : places / std::max<long>(label.extent[0], 1);
    for (std::int64_t i = 0; i < places * classes; ++i)
      if (std::isnan(detail::element(prediction, i)))
        throw_error<ValueError>("ROC got a prediction that is NaN, at place ", static_cast<long>(i), ".");
    classes_ = classes;
    scores_.resize(static_cast<std::size_t>(classes));
    for (std::int64_t i = 0; i < places; ++i) {
      labels_.push_back(detail::element(label, i));
      for (long c = 0; c < classes; ++c)
        scores_[static_cast<std::size_t>(c)].push_back(
            detail::element(prediction, i / inner * classes * inner + c * inner + i % inner));
    }
  }
  /// One curve, or one per class. Throws RuntimeError if nothing was counted, ValueError for a class that all samples
  /// belong to, or none.
  std::vector<RocCurve> eval() const {
    detail::share("ROC", 0, double(labels_.size()));
    std::vector<RocCurve> curves;
    for (std::size_t c = 0; c < scores_.size(); ++c)
      curves.push_back(curve(scores_[c], scores_.size() > 1 ? double(c) : double(options_.pos_label.value_or(1))));
    return curves;
  }

 private:
  long classes_of(const AnyTensor& prediction, const AnyTensor& label) const {
    if (prediction.rank == label.rank) {
      detail::check_same_shape("ROC", prediction, label);
      return 1;
    }
    const int axis = class_axis(prediction, label);
    if (axis == 0 || prediction.extent[axis] < 2)
      throw_error<ValueError>("ROC needs predictions like the labels [n,...], or [n,...,classes], got ",
                              shape_text(prediction.shape()), " and ", shape_text(label.shape()), ".");
    if (options_.pos_label)
      throw_error<ValueError>("ROC takes a pos_label for predictions like the labels alone, got ",
                              shape_text(prediction.shape()), " and ", shape_text(label.shape()), ".");
    return static_cast<long>(prediction.extent[axis]);
  }
  RocCurve curve(const std::vector<double>& scores, double positive) const {
    std::vector<std::size_t> order(scores.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return scores[a] > scores[b]; });
    RocCurve result{{0}, {0}, {scores[order[0]] + 1}};
    double right = 0, wrong = 0;
    for (std::size_t i = 0; i < order.size(); ++i) {
      (labels_[order[i]] == positive ? right : wrong) += 1;
      if (i + 1 < order.size() && scores[order[i + 1]] == scores[order[i]]) continue;
      result.fpr.push_back(wrong);
      result.tpr.push_back(right);
      result.thresholds.push_back(scores[order[i]]);
    }
    if (right == 0 || wrong == 0)
      throw_error<ValueError>("ROC has no ", right == 0 ? "positive" : "negative", " sample for the label ", positive,
                              ": a rate would divide by 0.");
    for (double& rate : result.fpr) rate /= wrong;
    for (double& rate : result.tpr) rate /= right;
    return result;
  }

  RocOptions options_;
  std::vector<std::vector<double>> scores_;  // of each class
  std::vector<double> labels_;
  long classes_ = 0;
};

}  // namespace tenon::nn
