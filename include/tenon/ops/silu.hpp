// Sigmoid linear unit (swish).
#pragma once
#include <tenon/ops/sigmoid.hpp>

namespace tenon::inline TENON_ABI::ops {
TENON_EXACT_BEGIN
/// The second derivative of silu, times a factor: s (1 - s) (2 + x (1 - 2s)) with s = sigmoid(x). Not for users.
struct SiluCurvature : Elementwise<SiluCurvature, "SiLUCurvature"> {
  template <class V>
  TENON_DEVICE static V eval(V x, V factor) {
    const V s = Sigmoid::eval(x);
    return factor * (s * (V(1) - s) * (V(2) + x * (V(1) - V(2) * s)));
  }
  static constexpr None derivative{};
};
/// The derivative of silu, times the gradient from above: dy s (1 + x (1 - s)) with s = sigmoid(x). Not for users.
struct SiluGrad : Elementwise<SiluGrad, "SiLUGrad"> {
  template <class V>
  TENON_DEVICE static V eval(V x, V gradient) {
    const V s = Sigmoid::eval(x);
    return gradient * (s * (V(1) + x * (V(1) - s)));
  }
  static constexpr void derivative(Derivative& d) {
    d.flows_to(0, d.call<SiluCurvature>(d.operand(0), d.call<Mul>(d.operand(1), d.gradient())));
    d.flows_to(1, d.call<SiluGrad>(d.operand(0), d.gradient()));
  }
};

/// Sigmoid linear unit, also called swish:  y = x sigmoid(x)
///
/// x           any shape; floating-point
/// derivative  from x; it has a derivative, too
/// accuracy    1 ulp more than sigmoid
/// source      Elfwing and others, arXiv 1702.03118; MindSpore's SiLU
struct Silu : Elementwise<Silu, "SiLU"> {
  static constexpr bool floating_only = true;
  template <class V>
  TENON_DEVICE static V eval(V x) {
    return x * Sigmoid::eval(x);
  }
  static constexpr void derivative(Derivative& d) { d.flows_to(0, d.call<SiluGrad>(d.operand(0), d.gradient())); }
};
TENON_EXACT_END

/// x sigmoid(x)
constexpr auto silu(const Operand auto& x, std::source_location at = std::source_location::current()) {
  return apply<Silu>(at, x);
}

}  // namespace tenon::ops
