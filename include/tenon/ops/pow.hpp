// Power: one tensor raised to another.
#pragma once
#include <tenon/core/math/elementary.hpp>
#include <tenon/core/math/wrapping.hpp>
#include <tenon/ops/div.hpp>
#include <tenon/ops/sub.hpp>

namespace tenon::inline TENON_ABI::ops {
TENON_EXACT_BEGIN
struct PowGradExponent;
/// The derivative of a power for its base, times the gradient from above: dy b a^(b-1), and 0 where b = 0. Not for
/// users.
struct PowGradBase : Elementwise<PowGradBase, "PowGradBase"> {
  template <class V>
  [[gnu::always_inline]] TENON_DEVICE static V eval(V a, V b, V gradient) {
    return math::either(b == V(0), V(0), gradient * (b * math::pow(a, b - V(1))));
  }
  static constexpr void derivative(Derivative& d);
};
/// The derivative of a power y for its exponent, times the gradient from above: dy y ln a, and 0 where a = 0 and y is
/// finite. Not for users.
struct PowGradExponent : Elementwise<PowGradExponent, "PowGradExponent"> {
  template <class V>
  [[gnu::always_inline]] TENON_DEVICE static V eval(V a, V y, V gradient) {
    return math::either((a == V(0)) & (y >= V(0)) & (y <= V(1)), V(0), gradient * (y * math::log(a)));
  }
  static constexpr void derivative(Derivative& d) {
    const int a = d.operand(0), y = d.operand(1), g = d.operand(2);
    d.flows_to(0, d.call<Div>(d.call<Mul>(d.call<Mul>(d.gradient(), g), y), a));
    d.flows_to(1, d.call<PowGradExponent>(a, g, d.gradient()));
    d.flows_to(2, d.call<PowGradExponent>(a, y, d.gradient()));
  }
};

/// Element-wise power with broadcasting:  y = aᵇ; NaN for a negative base with a fractional exponent
///
/// a, b        shapes that broadcast; any dtype but bool, the same for both. Integers wrap around, and a negative
///             exponent gives 0 unless the base is 1 or -1, as in PyTorch
/// derivative  dy b aᵇ⁻¹ (0 where b = 0) and dy y ln a (0 where a = 0 and b ≥ 0; NaN where a < 0), summed over
///             broadcast axes; the second derivative at a = 0 is NaN
/// accuracy    1 ulp in float32 and float64 (C library)
/// source      MindSpore's Pow, PyTorch's pow
struct Pow : Elementwise<Pow, "Pow"> {
  static constexpr bool numbers_only = true;
  template <class V>
  [[gnu::always_inline]] TENON_DEVICE static V eval(V a, V b) {
    if constexpr (std::is_integral_v<V>) return math::wrapping_power(a, b);
    else return math::pow(a, b);
  }
  static constexpr void derivative(Derivative& d) {
    d.flows_to(0, d.call<PowGradBase>(d.operand(0), d.operand(1), d.gradient()));
    d.flows_to(1, d.call<PowGradExponent>(d.operand(0), d.result(), d.gradient()));
  }
};

constexpr void PowGradBase::derivative(Derivative& d) {
  const int a = d.operand(0), b = d.operand(1), factor = d.call<Mul>(d.gradient(), d.operand(2));
  const int less = d.call<Sub>(b, d.constant(1)), power = d.call<Pow>(a, less), scaled = d.call<Mul>(factor, b);
  d.flows_to(0, d.call<PowGradBase>(a, less, scaled));
  d.flows_to(1, d.call<Add>(d.call<Mul>(factor, power), d.call<PowGradExponent>(a, power, scaled)));
  d.flows_to(2, d.call<PowGradBase>(a, b, d.gradient()));
}
TENON_EXACT_END

/// a to the power of b with broadcasting; one of them may be a number.
constexpr auto pow(const OperandOrScalar auto& a, const OperandOrScalar auto& b,
                   std::source_location at = std::source_location::current()) {
  return binary<Pow>(at, a, b);
}

}  // namespace tenon::ops
