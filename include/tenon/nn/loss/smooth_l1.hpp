// Absolute error as a loss, smooth where it is small.
#pragma once
#include <tenon/nn/cell.hpp>
#include <tenon/nn/loss/operand/target.hpp>
#include <tenon/nn/loss/reduction.hpp>
#include <tenon/ops/huber.hpp>
#include <tenon/ops/sub.hpp>

namespace tenon::inline TENON_ABI::nn {

/// With d = |prediction - target|:  d² / (2 beta) up to beta, d - beta / 2 beyond; the mean by default.
///
/// prediction, target  shapes that broadcast; one floating-point dtype
/// beta        above 0, in the type: `SmoothL1Loss<Reduction::mean, 0.5f>`. PyTorch also accepts 0, which is L1Loss
/// result      a number, or the elements with Reduction::none
/// source      MindSpore nn.SmoothL1Loss, whose default reduction is none; PyTorch's SmoothL1Loss. It is HuberLoss with
///             delta = beta, divided by beta
template <Reduction reduction = Reduction::mean, Scalar auto beta = 1>
struct SmoothL1Loss : Cell<SmoothL1Loss<reduction, beta>> {
  static_assert(beta > 0, "SmoothL1Loss needs a beta above 0; without a smooth part it is L1Loss");
  constexpr auto construct(const ops::Operand auto& prediction, const auto& target) const {
    return reduced<reduction>(ops::smooth_l1(ops::sub(prediction, target_of<SmoothL1Loss>(prediction, target)), beta));
  }
};

}  // namespace tenon::nn
