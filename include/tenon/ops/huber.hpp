// What losses make of an error d: huber and smooth_l1, squared where it is small, absolute where it is large.
#pragma once
#include <tenon/core/math/either.hpp>
#include <tenon/ops/abs.hpp>
#include <tenon/ops/div.hpp>
#include <tenon/ops/minimum.hpp>
#include <tenon/ops/mul.hpp>

namespace tenon::inline TENON_ABI::ops {
TENON_EXACT_BEGIN
/// dy times d limited to [-delta, delta]. Operands: d, delta, dy. Not for users.
struct HuberGrad : Elementwise<HuberGrad, "HuberGrad"> {
  template <class V>
  static constexpr V eval(V d, V delta, V gradient) {
    return gradient * math::either(d < -delta, -delta, math::either(d > delta, delta, d));
  }
  static constexpr void derivative(Derivative& d) {
    const int x = d.operand(0), delta = d.operand(1);
    d.flows_to(0, d.call<GreaterShare>(delta, d.call<Abs>(x), d.call<Mul>(d.operand(2), d.gradient())));
    d.no_gradient(1);
    d.flows_to(2, d.call<HuberGrad>(x, delta, d.gradient()));
  }
};

/// Huber's error:  d² / 2 where |d| < delta, else delta (|d| - delta / 2). Operands: d, delta.
///
/// d           any shape; floating-point
/// delta       a number above 0
/// derivative  dy d where |d| < delta, else delta dy with the sign of d; none to delta
/// source      Huber 1964; MindSpore's HuberLoss without its reduction
struct Huber : Elementwise<Huber, "Huber"> {
  static constexpr bool floating_only = true;
  template <class V>
  static constexpr V eval(V d, V delta) {
    const V size = Abs::eval(d), near = Minimum::eval(size, delta);
    return near * (size - near * V(0.5));
  }
  static constexpr void derivative(Derivative& d) {
    d.flows_to(0, d.call<HuberGrad>(d.operand(0), d.operand(1), d.gradient()));
    d.no_gradient(1);
  }
};

/// Huber's error divided by its delta, which is beta here:  d² / (2 beta) where |d| < beta, else |d| - beta / 2.
/// Operands: d, beta.
///
/// d           any shape; floating-point
/// beta        a number above 0
/// derivative  that of Huber with dy / beta; none to beta
/// source      MindSpore's SmoothL1Loss, PyTorch's smooth_l1_loss, without their reductions
struct SmoothL1 : Elementwise<SmoothL1, "SmoothL1"> {
  static constexpr bool floating_only = true;
  template <class V>
  static constexpr V eval(V d, V beta) {
    const V size = Abs::eval(d), near = Minimum::eval(size, beta);
    return near / beta * (size - near * V(0.5));
  }
  static constexpr void derivative(Derivative& d) {
    const int beta = d.operand(1);
    d.flows_to(0, d.call<HuberGrad>(d.operand(0), beta, d.call<Div>(d.gradient(), beta)));
    d.no_gradient(1);
  }
};
TENON_EXACT_END

/// d² / 2 where |d| < delta, else delta (|d| - delta / 2).
constexpr auto huber(const Operand auto& d, const Scalar auto& delta,
                     std::source_location at = std::source_location::current()) {
  return binary<Huber>(at, d, delta);
}
/// d² / (2 beta) where |d| < beta, else |d| - beta / 2.
constexpr auto smooth_l1(const Operand auto& d, const Scalar auto& beta,
                         std::source_location at = std::source_location::current()) {
  return binary<SmoothL1>(at, d, beta);
}

}  // namespace tenon::ops
