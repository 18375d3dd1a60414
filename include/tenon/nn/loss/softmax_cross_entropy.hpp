// Softmax cross entropy as a loss.
#pragma once
#include <tenon/nn/cell.hpp>
#include <tenon/nn/loss/reduction.hpp>
#include <tenon/ops/softmax_cross_entropy.hpp>

namespace tenon::inline TENON_ABI::nn {

/// Cross entropy between softmax(logits) and labels.
///
/// logits      [..., C]
/// labels      int32 or int64 [...] with class numbers (sparse), or [..., C] with a distribution per row: the label's
///             type decides
/// result      a number (mean by default), or [...] with Reduction::none
/// source      MindSpore nn.SoftmaxCrossEntropyWithLogits; its `sparse` is the label's type here, its default reduction
///             is none
template <Reduction reduction = Reduction::mean>
struct SoftmaxCrossEntropyWithLogits : Cell<SoftmaxCrossEntropyWithLogits<reduction>> {
  constexpr auto construct(ops::Operand auto logits, auto labels) const {
    return reduced<reduction>(ops::softmax_cross_entropy(logits, labels));
  }
};

}  // namespace tenon::nn
