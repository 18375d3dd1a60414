// Softsign.
#pragma once
#include <tenon/core/math/elementary.hpp>
#include <tenon/ops/mul.hpp>

namespace tenon::inline TENON_ABI::ops {
TENON_EXACT_BEGIN
/// The second derivative of Softsign, times a factor: -2 sign(x) / (1 + |x|)³. Not for users.
struct SoftsignCurvature : Elementwise<SoftsignCurvature, "SoftsignCurvature"> {
  template <class V>
  static constexpr V eval(V x, V factor) {
    const V sum = V(1) + (x < V(0) ? -x : x), slope = factor / sum / sum / sum;
    return (x > V(0) ? V(-2) : x < V(0) ? V(2) : V(0)) * slope;
  }
  static constexpr None derivative{};
};
/// The derivative of Softsign, times the gradient from above: dy / (1 + |x|)². Not for users.
struct SoftsignGrad : Elementwise<SoftsignGrad, "SoftsignGrad"> {
  template <class V>
  static constexpr V eval(V x, V gradient) {
    const V sum = V(1) + (x < V(0) ? -x : x);
    return gradient / sum / sum;
  }
  static constexpr void derivative(Derivative& d) {
    d.flows_to(0, d.call<SoftsignCurvature>(d.operand(0), d.call<Mul>(d.operand(1), d.gradient())));
    d.flows_to(1, d.call<SoftsignGrad>(d.operand(0), d.gradient()));
  }
};
/// Softsign:  y = x / (1 + |x|)
///
/// x           any shape; floating-point
/// derivative  dy / (1 + |x|)²; it has a derivative, too
/// source      MindSpore's Softsign
struct Softsign : Elementwise<Softsign, "Softsign"> {
  static constexpr bool floating_only = true;
  template <class V>
  static constexpr V eval(V x) {
    return x / (V(1) + (x < V(0) ? -x : x));
  }
  static constexpr void derivative(Derivative& d) { d.flows_to(0, d.call<SoftsignGrad>(d.operand(0), d.gradient())); }
};
TENON_EXACT_END

/// x / (1 + |x|)
constexpr auto softsign(const Operand auto& x, std::source_location at = std::source_location::current()) {
  return apply<Softsign>(at, x);
}

}  // namespace tenon::ops
