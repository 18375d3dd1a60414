// Share of correct predictions.
#pragma once
#include <string_view>

#include <tenon/nn/metric/count/classes.hpp>

namespace tenon::inline TENON_ABI::nn {

/// Share of the positions whose largest prediction is at the label's class.
///
/// prediction  [n, ..., C], the classes last as in the losses, or [n, C, ...]; float32 or float64, C >= 2. Where the
///             label fits both, [n, C, C] and [n, C], the classes are last
/// label       int32 or int64 [n, ...], or like the prediction [n, C, ...] of float32, float64, or int32 (one-hot: its
///             largest element counts). A class that the prediction does not have counts as wrong
/// source      MindSpore nn.Accuracy with eval_type "classification", which has [n, C, ...] alone
class Accuracy {
 public:
  static constexpr std::string_view name = "accuracy";

  /// Why predictions and labels of these types cannot be judged; empty if they can.
  static constexpr Sentence check(const TensorType& prediction, const TensorType& label) {
    return wrong_classes("Accuracy", prediction, label);
  }

  void clear() { right_ = total_ = classes_ = 0; }
  /// Throws ValueError with the sentence of check(), and for another number of classes than before.
  void update(const AnyTensor& prediction, const AnyTensor& label);
  /// Throws RuntimeError if nothing was counted.
  double eval() const;

 private:
  long right_ = 0, total_ = 0, classes_ = 0;
};

/// Share of the samples whose set of labels is predicted as a whole: a single wrong label makes the sample wrong.
///
/// prediction, label  [n, C, ...] of one shape and any dtype, 0 or 1; after the axis C each place is a sample
/// source             MindSpore nn.Accuracy with eval_type "multilabel"
class MultilabelAccuracy {
 public:
  static constexpr std::string_view name = "multilabel_accuracy";

  static constexpr Sentence check(const TensorType& prediction, const TensorType& label) {
    return wrong_label_sets("MultilabelAccuracy", prediction, label);
  }

  void clear() { right_ = total_ = classes_ = 0; }
  /// Throws ValueError with the sentence of check(), for elements that are not 0 or 1, and for another number of
  /// classes than before.
  void update(const AnyTensor& prediction, const AnyTensor& label);
  /// Throws RuntimeError if nothing was counted.
  double eval() const;

 private:
  long right_ = 0, total_ = 0, classes_ = 0;
};

#if TENON_DEFINES
TENON_INLINE void Accuracy::update(const AnyTensor& prediction, const AnyTensor& label) {
  detail::each_class("Accuracy", prediction, label, classes_, [this](const detail::ClassPlace& place) {
    right_ += place.predicted == place.wanted;
    ++total_;
  });
}
TENON_INLINE double Accuracy::eval() const { return detail::share("Accuracy", double(right_), double(total_)); }

TENON_INLINE void MultilabelAccuracy::update(const AnyTensor& prediction, const AnyTensor& label) {
  bool equal = true;
  detail::each_label("MultilabelAccuracy", prediction, label, classes_, [&](long, long c, bool predicted, bool wanted) {
    equal = (c == 0 || equal) && predicted == wanted;
    if (c + 1 < classes_) return;
    right_ += equal;
    ++total_;
  });
}
TENON_INLINE double MultilabelAccuracy::eval() const {
  return detail::share("MultilabelAccuracy", double(right_), double(total_));
}
#endif  // TENON_DEFINES

}  // namespace tenon::nn
