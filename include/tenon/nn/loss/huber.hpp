// Huber's error as a loss: squared where it is small, absolute where it is large.
#pragma once
#include <tenon/nn/cell.hpp>
#include <tenon/nn/loss/operand/target.hpp>
#include <tenon/nn/loss/reduction.hpp>
#include <tenon/ops/huber.hpp>
#include <tenon/ops/sub.hpp>

namespace tenon::inline TENON_ABI::nn {

/// With d = |prediction - target|:  d² / 2 up to delta, delta (d - delta / 2) beyond; the mean by default.
///
/// prediction, target  shapes that broadcast; one floating-point dtype
/// delta       above 0, in the type: `HuberLoss<Reduction::mean, 0.5f>`
/// result      a number, or the elements with Reduction::none
/// source      Huber 1964; MindSpore nn.HuberLoss, PyTorch's HuberLoss
template <Reduction reduction = Reduction::mean, Scalar auto delta = 1>
struct HuberLoss : Cell<HuberLoss<reduction, delta>> {
  static_assert(delta > 0, "HuberLoss needs a delta above 0");
  constexpr auto construct(const ops::Operand auto& prediction, const auto& target) const {
    return reduced<reduction>(ops::huber(ops::sub(prediction, target_of<HuberLoss>(prediction, target)), delta));
  }
};

/// Keras's name of HuberLoss; its use is a compile error that names HuberLoss.
template <auto... numbers>
struct Huber {
  static_assert(sizeof...(numbers) < 0, "this loss is nn::HuberLoss here, as in PyTorch: nn::HuberLoss{}");
};

}  // namespace tenon::nn
