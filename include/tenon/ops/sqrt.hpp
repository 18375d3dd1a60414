// Square root.
#pragma once
#include <tenon/core/math/elementary.hpp>
#include <tenon/ops/div.hpp>

namespace tenon::inline TENON_ABI::ops {
TENON_EXACT_BEGIN
/// Square root:  y = √x; NaN below zero
///
/// x           any shape; floating-point
/// derivative  dy / 2y, infinite at x = 0
/// accuracy    rounded correctly
/// source      MindSpore's Sqrt
struct Sqrt : Elementwise<Sqrt, "Sqrt"> {
  static constexpr bool floating_only = true;
  template <class V>
  TENON_DEVICE static V eval(V x) {
    return math::sqrt(x);
  }
  template <int Width>
  static Simd<float, Width> in_vectors(Simd<float, Width> x) {
    return math::sqrt(x);
  }
  static constexpr void derivative(Derivative& d) {
    d.flows_to(0, d.call<Div>(d.call<Mul>(d.gradient(), d.constant(0.5)), d.result()));
  }
};
TENON_EXACT_END

/// √x
constexpr auto sqrt(const Operand auto& x, std::source_location at = std::source_location::current()) {
  return apply<Sqrt>(at, x);
}

}  // namespace tenon::ops
