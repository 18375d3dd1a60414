// Absolute value.
#pragma once
#include <tenon/core/math/either.hpp>
#include <tenon/core/math/flush_denormal.hpp>
#include <tenon/core/math/wrapping.hpp>
#include <tenon/ops/elementwise.hpp>

namespace tenon::inline TENON_ABI::ops {
TENON_EXACT_BEGIN
/// The derivative of abs, times the gradient from above: dy sign(x), where the sign of 0 and of NaN is 0. It is a
/// product, as in PyTorch, so that a dy of NaN stays NaN also there. Not for users.
struct AbsGrad : Elementwise<AbsGrad, "AbsGrad"> {
  template <class V>
  static constexpr V eval(V x, V gradient) {
    return math::either(x > V(0), gradient, math::either(x < V(0), -gradient, gradient * V(0)));
  }
  static constexpr void derivative(Derivative& d) {
    d.flows_to(1, d.call<AbsGrad>(d.operand(0), d.gradient()));
    d.no_gradient(0);
  }
};

/// Absolute value:  y = |x|
///
/// x           any shape; any dtype but bool; the smallest integer stays as it is
/// derivative  dy sign(x); sign(0) and sign(NaN) are 0, as in PyTorch
/// source      MindSpore's Abs
struct Abs : Elementwise<Abs, "Abs"> {
  static constexpr bool numbers_only = true;
  template <class V>
  static constexpr V eval(V x) {
    if constexpr (std::is_floating_point_v<V>) {
      const V flushed = math::flush_denormal(x);
      return math::either(flushed > V(0), flushed, V(0) - flushed);  // 0 - x: also -0 becomes 0
    } else if constexpr (std::is_signed_v<V>) return x < V(0) ? math::wrapping_negate(x) : x;
    else return x;
  }
  static constexpr void derivative(Derivative& d) { d.flows_to(0, d.call<AbsGrad>(d.operand(0), d.gradient())); }
};
TENON_EXACT_END

/// |x|
constexpr auto abs(const Operand auto& x, std::source_location at = std::source_location::current()) {
  return apply<Abs>(at, x);
}

}  // namespace tenon::ops
