// Binary cross entropy of probabilities as a loss.
#pragma once
#include <tenon/nn/cell.hpp>
#include <tenon/nn/loss/operand/smallest.hpp>
#include <tenon/nn/loss/operand/target.hpp>
#include <tenon/nn/loss/operand/weight.hpp>
#include <tenon/ops/add.hpp>
#include <tenon/ops/log.hpp>
#include <tenon/ops/maximum.hpp>
#include <tenon/ops/neg.hpp>
#include <tenon/ops/sub.hpp>

namespace tenon::inline TENON_ABI::nn {

/// -w (y ln x + (1 - y) ln(1 - x)), the mean over all elements by default. BCEWithLogitsLoss takes the input of the
/// sigmoid and is more accurate.
///
/// prediction  x in 0 .. 1, such as a sigmoid; floating-point
/// target      y in 0 .. 1; a shape that broadcasts, the same dtype
/// Weight      w, a table whose shape broadcasts to the result, or NoWeight
/// result      a number, or the elements with Reduction::none
/// limits      x and 1 - x count as 1e-12 (2^-14 in float16) below that, and then have no gradient: the largest loss is
///             27.6, as in MindSpore, which adds 1e-12 to both. PyTorch's is 100
/// source      MindSpore nn.BCELoss, whose default reduction is none; PyTorch's BCELoss
template <Reduction reduction = Reduction::mean, class Weight = NoWeight>
struct BCELoss : Cell<BCELoss<reduction, Weight>> {
  constexpr auto construct(const ops::Operand auto& prediction, const auto& labels) const {
    const auto& target = target_of<BCELoss>(prediction, labels);
    constexpr double least = loss_epsilon<decltype(prediction)>();
    const auto positive = ops::mul(target, ops::log(ops::maximum(prediction, least)));
    const auto negative = ops::mul(1 - target, ops::log(ops::maximum(1 - prediction, least)));
    return reduced<reduction>(weighted<Weight>(ops::neg(positive + negative)));
  }
};

}  // namespace tenon::nn
