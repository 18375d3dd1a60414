// Absolute error as a loss.
#pragma once
#include <tenon/nn/cell.hpp>
#include <tenon/nn/loss/operand/target.hpp>
#include <tenon/nn/loss/reduction.hpp>
#include <tenon/ops/abs.hpp>
#include <tenon/ops/sub.hpp>

namespace tenon::inline TENON_ABI::nn {

/// |prediction - target|, the mean over all elements by default.
///
/// prediction, target  shapes that broadcast; one floating-point dtype
/// result      a number, or the elements with Reduction::none
/// source      MindSpore nn.L1Loss
template <Reduction reduction = Reduction::mean>
struct L1Loss : Cell<L1Loss<reduction>> {
  constexpr auto construct(const ops::Operand auto& prediction, const auto& target) const {
    return reduced<reduction>(ops::abs(ops::sub(prediction, target_of<L1Loss>(prediction, target))));
  }
};
/// MindSpore's other name.
template <Reduction reduction = Reduction::mean>
using MAELoss = L1Loss<reduction>;

}  // namespace tenon::nn
