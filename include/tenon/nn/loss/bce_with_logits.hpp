// Binary cross entropy of a sigmoid as a loss, computed from the logits.
#pragma once
#include <tenon/nn/cell.hpp>
#include <tenon/nn/loss/operand/target.hpp>
#include <tenon/nn/loss/operand/weight.hpp>
#include <tenon/ops/binary_cross_entropy.hpp>
#include <tenon/ops/sub.hpp>

namespace tenon::inline TENON_ABI::nn {

/// -w (p y ln s(x) + (1 - y) ln(1 - s(x))) with the sigmoid s, the mean over all elements by default. Computed as w (p
/// y softplus(-x) + (1 - y) softplus(x)), which neither overflows nor loses accuracy.
///
/// logits      x, any finite number; floating-point
/// target      y in 0 .. 1; a shape that broadcasts, the same dtype
/// Weight      w, a table whose shape broadcasts to the result, or NoWeight
/// PosWeight   p, another weight, usually a number per class: a value above 1 increases the recall
/// result      a number, or the elements with Reduction::none
/// source      MindSpore nn.BCEWithLogitsLoss, PyTorch's BCEWithLogitsLoss
template <Reduction reduction = Reduction::mean, class Weight = NoWeight, class PosWeight = NoWeight>
struct BCEWithLogitsLoss : Cell<BCEWithLogitsLoss<reduction, Weight, PosWeight>> {
  constexpr auto construct(const ops::Operand auto& logits, const auto& labels) const {
    const auto& target = target_of<BCEWithLogitsLoss>(logits, labels);
    const auto loss = ops::binary_cross_entropy(logits, weighted<PosWeight>(target), 1 - target);
    return reduced<reduction>(weighted<Weight>(loss));
  }
};

}  // namespace tenon::nn
