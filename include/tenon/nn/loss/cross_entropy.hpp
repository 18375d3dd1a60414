// Softmax cross entropy with class weights, label smoothing, and labels that are ignored.
#pragma once
#include <tenon/nn/cell.hpp>
#include <tenon/nn/loss/operand/class_labels.hpp>
#include <tenon/ops/add.hpp>
#include <tenon/ops/one_hot.hpp>
#include <tenon/ops/softmax_cross_entropy.hpp>

namespace tenon::inline TENON_ABI::nn {

/// Settings of CrossEntropyLoss.
struct CrossEntropyConfig {
  float label_smoothing = 0;    // this share of each label goes to all classes alike
  int ignore_index = no_index;  // a class number that does not count
};

/// -Σ w t ln softmax(logits) per sample, where t is the label; the mean by default. Without settings and weights it is
/// SoftmaxCrossEntropyWithLogits.
///
/// logits      [..., C]; floating-point. PyTorch and MindSpore have the classes in axis 1
/// labels      int32 or int64 [...], classes 0 .. C - 1 (others throw ValueError), or [..., C] with a distribution per
///             row: the label's type decides. They have no gradient
/// config      label_smoothing in 0 .. 1; ignore_index, for class numbers: PyTorch and MindSpore have -100 by default,
///             here it must be given, so that a wrong label stays an error
/// Weight      w, a table of C numbers, or NoWeight
/// result      a number, or [...] with Reduction::none. The mean is divided by the weights of the labels where they are
///             class numbers, by the count of samples where they are distributions. The mean of no labels is NaN, as in
///             PyTorch, and so is the loss of an evaluation with such a batch. With weights or ignored labels that loss
///             depends on the batch size: it is the mean of the batches' means by their samples
/// source      MindSpore nn.CrossEntropyLoss, PyTorch's CrossEntropyLoss
template <Reduction reduction = Reduction::mean, CrossEntropyConfig config = CrossEntropyConfig{},
          class Weight = NoWeight>
struct CrossEntropyLoss : Cell<CrossEntropyLoss<reduction, config, Weight>> {
  static constexpr float smoothing = config.label_smoothing;
  static_assert(smoothing >= 0 && smoothing <= 1, "CrossEntropyLoss needs a label_smoothing in 0 .. 1");

  template <ops::Operand X, ops::Operand L>
  constexpr auto construct(const X& logits, const L& labels) const {
    if constexpr (is_broken<X> || is_broken<L>) return Broken(tenon::detail::builder_among(logits, labels));
    else if constexpr (!fits_classes<Weight, X>()) return refuse_class_weights<CrossEntropyLoss, Weight>(logits);
    else if constexpr (is_floating(L::dims.dtype)) return of_distributions(logits, labels);
    else {
      const auto classes = class_numbers<config.ignore_index>(labels);
      const auto loss = of_classes(logits, classes);
      return reduced_labelled<reduction, Weight, config.ignore_index>(loss, labels);
    }
  }

 private:
  template <ops::Operand X>
  constexpr auto of_classes(const X& logits, const auto& classes) const {
    if constexpr (smoothing > 0) {
      constexpr int count = X::dims.last();
      constexpr float others = smoothing / float(count);
      const auto smoothed = ops::one_hot<count, typename X::type, 1 - smoothing + others, others>(classes);
      return ops::softmax_cross_entropy(logits, weighted<Weight>(smoothed));
    } else {
      const auto loss = ops::softmax_cross_entropy(logits, classes);
      if constexpr (has_weight<Weight>) return loss * class_weight<Weight>(loss, classes);
      else return loss;
    }
  }
  template <ops::Operand X>
  constexpr auto of_distributions(const X& logits, const auto& labels) const {
    if constexpr (smoothing > 0) {
      constexpr float others = smoothing / float(X::dims.last());
      const auto smoothed = labels * (1 - smoothing) + others;
      return reduced<reduction>(ops::softmax_cross_entropy(logits, weighted<Weight>(smoothed)));
    } else return reduced<reduction>(ops::softmax_cross_entropy(logits, weighted<Weight>(labels)));
  }
};

}  // namespace tenon::nn
