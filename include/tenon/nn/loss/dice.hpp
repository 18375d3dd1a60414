// Overlap of a predicted and a true region as a loss.
#pragma once
#include <tenon/nn/cell.hpp>
#include <tenon/nn/loss/operand/target.hpp>
#include <tenon/ops/add.hpp>
#include <tenon/ops/div.hpp>
#include <tenon/ops/mul.hpp>
#include <tenon/ops/reduce_sum.hpp>
#include <tenon/ops/reduce_sum_square.hpp>
#include <tenon/ops/sub.hpp>

namespace tenon::inline TENON_ABI::nn {

/// 1 - (2 Σ x y + smooth) / (Σ x² + Σ y² + smooth), sums over all elements of the batch.
///
/// prediction  x, probabilities; floating-point
/// target      y, 0 or 1; the same shape and dtype
/// smooth      above 0, in the type: makes two empty regions agree
/// result      a number
/// source      MindSpore nn.DiceLoss; Milletari and others, arXiv 1606.04797
template <Scalar auto smooth = 1e-5f>
struct DiceLoss : Cell<DiceLoss<smooth>> {
  static_assert(smooth > 0, "DiceLoss needs a smooth above 0, or two empty regions give 0 / 0");
  constexpr auto construct(const ops::Operand auto& prediction, const auto& labels) const {
    const auto& target = target_of<DiceLoss>(prediction, labels);
    const auto common = ops::reduce_sum(ops::mul(prediction, target));
    const auto both = ops::reduce_sum_square(prediction) + ops::reduce_sum_square(target);
    return 1 - (2 * common + smooth) / (both + smooth);
  }
};

}  // namespace tenon::nn
