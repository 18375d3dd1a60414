// Logarithms beside log: log1p, log2, log10.
#pragma once
#include <tenon/core/math/logarithm.hpp>
#include <tenon/core/math/rounding.hpp>
#include <tenon/ops/div.hpp>
#include <tenon/ops/mul.hpp>

namespace tenon::inline TENON_ABI::ops {
TENON_EXACT_BEGIN
/// Logarithm of 1 + x, which keeps its digits near 0:  y = ln(1 + x); -infinity at -1, NaN below
///
/// x           any shape; floating-point
/// derivative  dy / (1 + x)
/// accuracy    2 ulp in float32
/// source      MindSpore's Log1p
struct Log1p : Elementwise<Log1p, "Log1p"> {
  static constexpr bool floating_only = true;
  template <class V>
  [[gnu::always_inline]] TENON_DEVICE static V eval(V x) {
    return math::signed_as(math::detail::logarithm_1p(x), x);  // -0 stays
  }
  static constexpr void derivative(Derivative& d) {
    d.flows_to(0, d.call<Div>(d.gradient(), d.call<Add>(d.operand(0), d.constant(1))));
  }
};
/// Logarithm to base 2; -infinity at 0, NaN below
///
/// x           any shape; floating-point
/// derivative  dy / (x ln 2)
/// accuracy    1 ulp in float32
/// source      MindSpore's log2
struct Log2 : Elementwise<Log2, "Log2"> {
  static constexpr bool floating_only = true;
  template <class V>
  [[gnu::always_inline]] TENON_DEVICE static V eval(V x) {
    return math::log2(x);
  }
  static constexpr void derivative(Derivative& d) {
    d.flows_to(0, d.call<Div>(d.gradient(), d.call<Mul>(d.operand(0), d.constant(0.69314718055994530942))));
  }
};
/// Logarithm to base 10; -infinity at 0, NaN below
///
/// x           any shape; floating-point
/// derivative  dy / (x ln 10)
/// accuracy    1 ulp in float32
/// source      MindSpore's log10
struct Log10 : Elementwise<Log10, "Log10"> {
  static constexpr bool floating_only = true;
  template <class V>
  [[gnu::always_inline]] TENON_DEVICE static V eval(V x) {
    return math::log10(x);
  }
  static constexpr void derivative(Derivative& d) {
    d.flows_to(0, d.call<Div>(d.gradient(), d.call<Mul>(d.operand(0), d.constant(2.30258509299404568402))));
  }
};
TENON_EXACT_END

/// ln(1 + x)
constexpr auto log1p(const Operand auto& x, std::source_location at = std::source_location::current()) {
  return apply<Log1p>(at, x);
}
/// The logarithm to base 2.
constexpr auto log2(const Operand auto& x, std::source_location at = std::source_location::current()) {
  return apply<Log2>(at, x);
}
/// The logarithm to base 10.
constexpr auto log10(const Operand auto& x, std::source_location at = std::source_location::current()) {
  return apply<Log10>(at, x);
}

}  // namespace tenon::ops
