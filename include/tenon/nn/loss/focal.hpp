// Cross entropy that gives less weight to samples that are already classified well.
#pragma once
#include <tenon/nn/cell.hpp>
#include <tenon/nn/loss/operand/class_labels.hpp>
#include <tenon/ops/exp.hpp>
#include <tenon/ops/neg.hpp>
#include <tenon/ops/pow.hpp>
#include <tenon/ops/softmax_cross_entropy.hpp>
#include <tenon/ops/sub.hpp>

namespace tenon::inline TENON_ABI::nn {

/// -w (1 - p)^gamma ln p, where p is the label's share in softmax(logits) and w the weight of its class; the mean over
/// all samples by default.
///
/// logits      [..., C]; floating-point
/// labels      int32 or int64 [...], classes 0 .. C - 1 (others throw ValueError), or, without Weight, one-hot vectors
/// gamma       0 (that is CrossEntropyLoss), or 1 or more, in the type: in between, the gradient at p = 1 is infinite
/// Weight      a table of C numbers, or NoWeight. As in MindSpore, the mean is not divided by them
/// result      a number, or [...] with Reduction::none
/// source      MindSpore nn.FocalLoss, which has the classes in axis 1 and labels [n,1]; Lin and others, arXiv
///             1708.02002
template <Reduction reduction = Reduction::mean, Scalar auto gamma = 2, class Weight = NoWeight>
struct FocalLoss : Cell<FocalLoss<reduction, gamma, Weight>> {
  static_assert(gamma == 0 || gamma >= 1, "FocalLoss needs a gamma of 0, or of 1 or more");
  template <ops::Operand X>
  constexpr auto construct(const X& logits, const auto& labels) const {
    if constexpr (is_broken<X>) return logits;
    else if constexpr (!fits_classes<Weight, X>()) return refuse_class_weights<FocalLoss, Weight>(logits);
    else {
      const auto entropy = ops::softmax_cross_entropy(logits, labels);
      const auto loss = ops::mul(ops::pow(1 - ops::exp(ops::neg(entropy)), gamma), entropy);
      if constexpr (has_weight<Weight>) return reduced<reduction>(loss * class_weight<Weight>(loss, labels));
      else return reduced<reduction>(loss);
    }
  }
};

}  // namespace tenon::nn
