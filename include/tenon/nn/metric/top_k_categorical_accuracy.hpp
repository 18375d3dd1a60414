// Share of samples whose label is among the k largest predictions.
#pragma once
#include <tenon/core/log/log.hpp>
#include <tenon/nn/metric/count/classes.hpp>

namespace tenon::inline TENON_ABI::nn {

/// Share of the samples whose label is among the k largest predictions: `TopKCategoricalAccuracy{5}`. Among equal
/// predictions, the first class counts as the larger one. A prediction that is NaN is larger than any other, as in
/// argmax; a label whose own prediction is NaN, or that is none of the classes, is wrong.
///
/// prediction, label  as of Accuracy
/// warning            at the first batch if k is not smaller than the number of classes: every valid label then counts
///                    as correct
/// throws             ValueError for k < 1
/// source             MindSpore nn.TopKCategoricalAccuracy, which has [n, C] alone
class TopKCategoricalAccuracy {
 public:
  static constexpr std::string_view name = "topk";
  explicit TopKCategoricalAccuracy(int k) : k_(k) {
    if (k < 1) throw_error<ValueError>("TopKCategoricalAccuracy needs a k of 1 or more, got ", k, ".");
  }

  /// Why predictions and labels of these types cannot be judged; empty if they can.
  static constexpr Sentence check(const TensorType& prediction, const TensorType& label) {
    return wrong_classes("TopKCategoricalAccuracy", prediction, label);
  }

  void clear() { right_ = total_ = classes_ = 0; }
  /// Throws ValueError with the sentence of check(), and for another number of classes than before.
  void update(const AnyTensor& prediction, const AnyTensor& label);
  /// Throws RuntimeError if nothing was counted.
  double eval() const { return detail::share("TopKCategoricalAccuracy", double(right_), double(total_)); }

 private:
  int k_;
  long right_ = 0, total_ = 0, classes_ = 0;
};

/// TopKCategoricalAccuracy with k = 1. Source: MindSpore nn.Top1CategoricalAccuracy
struct Top1CategoricalAccuracy : TopKCategoricalAccuracy {
  static constexpr std::string_view name = "top_1_accuracy";
  Top1CategoricalAccuracy() : TopKCategoricalAccuracy(1) {}
};

/// TopKCategoricalAccuracy with k = 5. Source: MindSpore nn.Top5CategoricalAccuracy
struct Top5CategoricalAccuracy : TopKCategoricalAccuracy {
  static constexpr std::string_view name = "top_5_accuracy";
  Top5CategoricalAccuracy() : TopKCategoricalAccuracy(5) {}
};

#if TENON_DEFINES
TENON_INLINE void TopKCategoricalAccuracy::update(const AnyTensor& prediction, const AnyTensor& label) {
  const bool first_batch = classes_ == 0;
  detail::each_class("TopKCategoricalAccuracy", prediction, label, classes_, [&](const detail::ClassPlace& place) {
    const long wanted = place.wanted;
    ++total_;
    if (wanted < 0 || wanted >= classes_) return;
    const double own = detail::element(prediction, place.first + wanted * place.stride);
    long larger = 0;
    for (long c = 0; c < classes_; ++c) {
      const double other = detail::element(prediction, place.first + c * place.stride);
      larger += !(other <= own) || (other == own && c < wanted);
    }
    right_ += own == own && larger < k_;
  });
  if (first_batch && k_ >= classes_)
    logging::warning("TopKCategoricalAccuracy: k is ", k_, ", and there are ", classes_,
                     " classes: each label is right. Give a smaller k.");
}
#endif  // TENON_DEFINES

}  // namespace tenon::nn
