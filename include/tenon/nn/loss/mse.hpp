// Squared error as a loss.
#pragma once
#include <tenon/nn/cell.hpp>
#include <tenon/nn/loss/operand/target.hpp>
#include <tenon/nn/loss/reduction.hpp>
#include <tenon/ops/square.hpp>
#include <tenon/ops/sub.hpp>

namespace tenon::inline TENON_ABI::nn {

/// (prediction - target)², the mean over all elements by default.
///
/// prediction, target  shapes that broadcast; one floating-point dtype
/// result      a number, or the elements with Reduction::none
/// source      MindSpore nn.MSELoss
template <Reduction reduction = Reduction::mean>
struct MSELoss : Cell<MSELoss<reduction>> {
  constexpr auto construct(const ops::Operand auto& prediction, const auto& target) const {
    return reduced<reduction>(ops::square(ops::sub(prediction, target_of<MSELoss>(prediction, target))));
  }
};

}  // namespace tenon::nn
