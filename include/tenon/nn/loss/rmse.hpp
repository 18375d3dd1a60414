// Root of the mean squared error as a loss.
#pragma once
#include <tenon/nn/cell.hpp>
#include <tenon/nn/loss/operand/smallest.hpp>
#include <tenon/nn/loss/operand/target.hpp>
#include <tenon/ops/compare.hpp>
#include <tenon/ops/maximum.hpp>
#include <tenon/ops/reduce_mean.hpp>
#include <tenon/ops/select.hpp>
#include <tenon/ops/sqrt.hpp>
#include <tenon/ops/square.hpp>
#include <tenon/ops/sub.hpp>

namespace tenon::inline TENON_ABI::nn {

/// √ of the mean of (prediction - target)² over all elements.
///
/// prediction, target  shapes that broadcast; one floating-point dtype
/// result      a number
/// derivative  0 where all errors are 0, for which the formula has 0 / 0
/// source      MindSpore nn.RMSELoss
struct RMSELoss : Cell<RMSELoss> {
  constexpr auto construct(const ops::Operand auto& prediction, const auto& target) const {
    const auto mean = ops::reduce_mean(ops::square(ops::sub(prediction, target_of<RMSELoss>(prediction, target))));
    const auto root = ops::sqrt(ops::maximum(mean, smallest_normal<decltype(mean)>()));
    return ops::masked_fill(root, mean == 0, 0);
  }
};

}  // namespace tenon::nn
