// Confusion matrix: the counts of each label and prediction.
#pragma once
#include <vector>

#include <tenon/nn/metric/count/classes.hpp>

namespace tenon::inline TENON_ABI::nn {

/// The normalization of a confusion matrix: none, by the sum of each row (a class's labels), of each column (its
/// predictions), or of all elements. An element whose divisor is 0 is 0.
enum class ConfusionNormalization { none, target, prediction, all };

/// A matrix [classes, classes] of counts, row: the label, column: the prediction.
///
/// prediction  integers like the label; floating-point numbers like it, which are class 1 from the threshold on, else
///             class 0; or [n, ..., classes] or [n, classes, ...] floating-point, of which the largest counts
/// label       [n, ...] class numbers
/// throws      ValueError for less than 2 classes
/// source      MindSpore nn.ConfusionMatrix
class ConfusionMatrix {
 public:
  static constexpr std::string_view name = "confusion_matrix";
  explicit ConfusionMatrix(int classes, ConfusionNormalization normalization = ConfusionNormalization::none,
                           double threshold = 0.5)
      : classes_(classes), normalization_(normalization), threshold_(threshold) {
    if (classes < 2) throw_error<ValueError>("ConfusionMatrix needs 2 or more classes, got ", classes, ".");
    clear();
  }

  void clear() { counts_.assign(static_cast<std::size_t>(classes_) * static_cast<std::size_t>(classes_), 0.0); }
  /// Throws ValueError for shapes that do not fit, and for numbers that are not classes. After an error nothing of the
  /// update is counted.
  void update(const AnyTensor& prediction, const AnyTensor& label) {
    const bool scores = prediction.rank == label.rank + 1 && label.rank > 0;
    const int axis = class_axis(prediction, label);
    if (scores) check_scores(prediction, label, axis);
    else detail::check_same_shape("ConfusionMatrix", prediction, label);
    const std::int64_t count = label.count();
    std::vector<std::size_t> cells;
    for (std::int64_t i = 0; i < count; ++i) {
      const long predicted = scores ? best(prediction, i, axis) : class_at(prediction, i, "prediction");
      cells.push_back(static_cast<std::size_t>(class_at(label, i, "label") * classes_ + predicted));
    }
    for (const std::size_t cell : cells) counts_[cell] += 1;
  }
  /// The matrix in row-major order, one row per label. Throws RuntimeError if nothing was counted.
  std::vector<double> eval() const {
    const auto size = static_cast<std::size_t>(classes_);
    std::vector<double> of_label(size), of_prediction(size), result(counts_);
    double all = 0;
    for (std::size_t i = 0; i < counts_.size(); ++i) {
      of_label[i / size] += counts_[i];
      of_prediction[i % size] += counts_[i];
      all += counts_[i];
    }
    detail::share("ConfusionMatrix", 0, all);
    for (std::size_t i = 0; i < result.size(); ++i) {
      double whole = 1;
      if (normalization_ == ConfusionNormalization::target) whole = of_label[i / size];
      if (normalization_ == ConfusionNormalization::prediction) whole = of_prediction[i % size];
      if (normalization_ == ConfusionNormalization::all) whole = all;
      result[i] = whole == 0 ? 0 : result[i] / whole;
    }
    return result;
  }

 private:
  void check_scores(const AnyTensor& prediction, const AnyTensor& label, int axis) const {
    if (axis == 0 || prediction.extent[axis] != classes_)
      throw_error<ValueError>("ConfusionMatrix of ", classes_, " classes got predictions ",
                              shape_text(prediction.shape()), " and labels ", shape_text(label.shape()),
                              ": it takes [n,...,", classes_, "] or [n,", classes_,
                              ",...] and [n,...], or one shape for both.");
  }
  long best(const AnyTensor& prediction, std::int64_t place, int axis) const {
    const ClassLayout layout(prediction, axis);
    const long first = layout.first(long(place)), inner = layout.stride;
    long best = 0;
    for (long c = 1; c < classes_; ++c) {  // as argmax: NaN is larger than all else
      const double largest = detail::element(prediction, first + best * inner);
      if (largest == largest && !(detail::element(prediction, first + c * inner) <= largest)) best = c;
    }
    return best;
  }
  long class_at(const AnyTensor& t, std::int64_t place, const char* what) const {
    const double value = detail::element(t, place);
    if (is_floating(t.dtype) && *what == 'p' && value == value) return value >= threshold_;
    if (!(value >= 0 && value < classes_) || value != static_cast<double>(static_cast<long>(value)))
      throw_error<ValueError>("ConfusionMatrix got the ", what, " ", value, " at place ", static_cast<long>(place),
                              ", the classes are 0 to ", classes_ - 1, ".");
    return static_cast<long>(value);
  }

  int classes_;
  ConfusionNormalization normalization_;
  double threshold_;
  std::vector<double> counts_;
};

}  // namespace tenon::nn
