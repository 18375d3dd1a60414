// Reciprocal square root.
#pragma once
#include <tenon/core/math/elementary.hpp>
#include <tenon/ops/mul.hpp>

namespace tenon::inline TENON_ABI::ops {
TENON_EXACT_BEGIN
/// Reciprocal square root:  y = 1 / √x; NaN below zero, infinite at zero
///
/// x           any shape; floating-point
/// derivative  -y³ dy / 2
/// accuracy    1 ulp: a correctly rounded root, then a correctly rounded quotient
/// source      MindSpore's Rsqrt
struct Rsqrt : Elementwise<Rsqrt, "Rsqrt"> {
  static constexpr bool floating_only = true;
  template <class V>
  TENON_DEVICE static V eval(V x) {
    return V(1) / math::sqrt(x);
  }
  template <int Width>
  static Simd<float, Width> in_vectors(Simd<float, Width> x) {
    return Simd<float, Width>(1.0f) / math::sqrt(x);
  }
  static constexpr void derivative(Derivative& d) {
    const int y = d.result(), cube = d.call<Mul>(d.call<Mul>(y, y), y);
    d.flows_to(0, d.call<Mul>(d.call<Mul>(cube, d.constant(-0.5)), d.gradient()));
  }
};
TENON_EXACT_END

/// 1 / √x
constexpr auto rsqrt(const Operand auto& x, std::source_location at = std::source_location::current()) {
  return apply<Rsqrt>(at, x);
}

}  // namespace tenon::ops
