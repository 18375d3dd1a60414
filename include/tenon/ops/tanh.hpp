// Hyperbolic tangent.
#pragma once
#include <tenon/core/math/elementary.hpp>
#include <tenon/ops/mul.hpp>
#include <tenon/ops/neg.hpp>

namespace tenon::inline TENON_ABI::ops {
TENON_EXACT_BEGIN
/// The derivative of tanh, times the gradient from above: dy (1 - y²). Not for users.
struct TanhGrad : Elementwise<TanhGrad, "TanhGrad"> {
  template <class V>
  static constexpr V eval(V y, V gradient) {
    return gradient * (V(1) - y * y);
  }
  static constexpr void derivative(Derivative& d) {
    const int y = d.operand(0);
    d.flows_to(0, d.call<Neg>(d.call<Mul>(d.call<Mul>(d.gradient(), d.operand(1)), d.call<Add>(y, y))));
    d.flows_to(1, d.call<TanhGrad>(y, d.gradient()));
  }
};

/// Hyperbolic tangent
///
/// x           any shape; floating-point
/// derivative  1 - y², from y
/// accuracy    that of math::tanh (core/math/elementary.hpp)
/// source      MindSpore's Tanh, whose CPU kernel is an approximation (3e-5)
struct Tanh : Elementwise<Tanh, "Tanh"> {
  static constexpr bool floating_only = true;
  template <class V>
  TENON_DEVICE static V eval(V x) {
    return math::tanh(x);
  }
  static constexpr void derivative(Derivative& d) { d.flows_to(0, d.call<TanhGrad>(d.result(), d.gradient())); }
};
TENON_EXACT_END

/// tanh x
constexpr auto tanh(const Operand auto& x, std::source_location at = std::source_location::current()) {
  return apply<Tanh>(at, x);
}

}  // namespace tenon::ops
