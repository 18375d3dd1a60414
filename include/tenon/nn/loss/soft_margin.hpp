// A loss of scores that should have the same sign as their labels.
#pragma once
#include <tenon/nn/cell.hpp>
#include <tenon/nn/loss/operand/target.hpp>
#include <tenon/nn/loss/reduction.hpp>
#include <tenon/ops/mul.hpp>
#include <tenon/ops/neg.hpp>
#include <tenon/ops/softplus.hpp>

namespace tenon::inline TENON_ABI::nn {

/// ln(1 + exp(-y x)), the mean over all elements by default; a softplus, which neither overflows nor loses digits.
///
/// prediction  x; floating-point
/// y           1 or -1, a shape that broadcasts; any dtype
/// result      a number, or the elements with Reduction::none
/// source      MindSpore nn.SoftMarginLoss, PyTorch's SoftMarginLoss
template <Reduction reduction = Reduction::mean>
struct SoftMarginLoss : Cell<SoftMarginLoss<reduction>> {
  constexpr auto construct(const ops::Operand auto& prediction, const auto& y) const {
    const auto sign = ops::cast<ops::ElementOf<decltype(prediction)>>(target_of<SoftMarginLoss, true>(prediction, y));
    return reduced<reduction>(ops::softplus(ops::neg(ops::mul(sign, prediction))));
  }
};

}  // namespace tenon::nn
