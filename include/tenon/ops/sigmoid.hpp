// Logistic sigmoid.
#pragma once
#include <tenon/core/math/elementary.hpp>
#include <tenon/ops/mul.hpp>
#include <tenon/ops/sub.hpp>

namespace tenon::inline TENON_ABI::ops {
TENON_EXACT_BEGIN
/// The derivative of sigmoid, times the gradient from above: dy y (1 - y). Not for users.
struct SigmoidGrad : Elementwise<SigmoidGrad, "SigmoidGrad"> {
  template <class V>
  static constexpr V eval(V y, V gradient) {
    return gradient * (y * (V(1) - y));
  }
  static constexpr void derivative(Derivative& d) {
    const int y = d.operand(0), slope = d.call<Sub>(d.constant(1), d.call<Add>(y, y));
    d.flows_to(0, d.call<Mul>(d.call<Mul>(d.gradient(), d.operand(1)), slope));
    d.flows_to(1, d.call<SigmoidGrad>(y, d.gradient()));
  }
};

/// Logistic sigmoid:  y = 1 / (1 + e⁻ˣ)
///
/// x           any shape; floating-point
/// derivative  y (1 - y), from y
/// accuracy    2 ulp more than math::exp; for negative x computed as eˣ / (1 + eˣ), so that nothing overflows
/// source      MindSpore's Sigmoid
struct Sigmoid : Elementwise<Sigmoid, "Sigmoid"> {
  static constexpr bool floating_only = true;
  template <class V>
  TENON_DEVICE static V eval(V x) {
    const V e = math::exp(x > V(0) ? -x : x);
    return (x > V(0) ? V(1) : e) / (V(1) + e);
  }
  static constexpr void derivative(Derivative& d) { d.flows_to(0, d.call<SigmoidGrad>(d.result(), d.gradient())); }
};
TENON_EXACT_END

/// 1 / (1 + e⁻ˣ)
constexpr auto sigmoid(const Operand auto& x, std::source_location at = std::source_location::current()) {
  return apply<Sigmoid>(at, x);
}

}  // namespace tenon::ops
