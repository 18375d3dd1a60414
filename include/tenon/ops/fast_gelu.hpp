// Gaussian error linear unit, approximated by a sigmoid.
#pragma once
#include <tenon/ops/sigmoid.hpp>

namespace tenon::inline TENON_ABI::ops {
TENON_EXACT_BEGIN
namespace detail {
inline constexpr double fast_gelu_slope = 1.702;
}
/// The second derivative of FastGelu, times a factor: a s (1 - s) (2 + a x (1 - 2s)), a = 1.702. Not for users.
struct FastGeluCurvature : Elementwise<FastGeluCurvature, "FastGeLUCurvature"> {
  template <class V>
  [[gnu::always_inline]] TENON_DEVICE static V eval(V x, V factor) {
    const V a = V(detail::fast_gelu_slope), s = Sigmoid::eval(a * x);
    const V change = a * (s * (V(1) - s));
    return factor * (V(2) * change + a * (x * change) * (V(1) - V(2) * s));
  }
  static constexpr None derivative{};
};
/// The derivative of FastGelu, times the gradient from above: dy (s + a x s (1 - s)). Not for users.
struct FastGeluGrad : Elementwise<FastGeluGrad, "FastGeLUGrad"> {
  template <class V>
  [[gnu::always_inline]] TENON_DEVICE static V eval(V x, V gradient) {
    const V a = V(detail::fast_gelu_slope), s = Sigmoid::eval(a * x);
    return gradient * (s + a * (x * (s * (V(1) - s))));
  }
  static constexpr void derivative(Derivative& d) {
    d.flows_to(0, d.call<FastGeluCurvature>(d.operand(0), d.call<Mul>(d.operand(1), d.gradient())));
    d.flows_to(1, d.call<FastGeluGrad>(d.operand(0), d.gradient()));
  }
};
/// Gaussian error linear unit, sigmoid form:  y = x sigmoid(1.702 x)
///
/// x           any shape; floating-point
/// derivative  from x; it has a derivative, too
/// source      Hendrycks and Gimpel, arXiv 1606.08415; MindSpore's FastGeLU
struct FastGelu : Elementwise<FastGelu, "FastGeLU"> {
  static constexpr bool floating_only = true;
  template <class V>
  [[gnu::always_inline]] TENON_DEVICE static V eval(V x) {
    return x * Sigmoid::eval(V(detail::fast_gelu_slope) * x);
  }
  static constexpr void derivative(Derivative& d) { d.flows_to(0, d.call<FastGeluGrad>(d.operand(0), d.gradient())); }
};
TENON_EXACT_END

/// x sigmoid(1.702 x)
constexpr auto fast_gelu(const Operand auto& x, std::source_location at = std::source_location::current()) {
  return apply<FastGelu>(at, x);
}

}  // namespace tenon::ops
