// The error function and its complement: erf, erfc.
#pragma once
#include <tenon/core/math/error_function.hpp>
#include <tenon/ops/exp.hpp>
#include <tenon/ops/mul.hpp>
#include <tenon/ops/neg.hpp>
#include <tenon/ops/square.hpp>

namespace tenon::inline TENON_ABI::ops {
TENON_EXACT_BEGIN
namespace detail {
// ±2/√π exp(-x²) times a gradient.
constexpr int bell(Derivative& d, int x, double factor, int gradient) {
  const int power = d.call<Exp>(d.call<Neg>(d.call<Square>(x)));
  return d.call<Mul>(gradient, d.call<Mul>(power, d.constant(factor)));
}
}  // namespace detail

/// Error function:  y = 2/√π ∫ exp(-t²) dt from 0 to x
///
/// x           any shape; floating-point
/// derivative  dy 2/√π exp(-x²)
/// accuracy    1.5 ulp in float32
/// source      MindSpore's Erf
struct Erf : Elementwise<Erf, "Erf"> {
  static constexpr bool floating_only = true;
  template <class V>
  [[gnu::always_inline]] TENON_DEVICE static V eval(V x) {
    return math::erf(x);
  }
  static constexpr void derivative(Derivative& d) {
    d.flows_to(0, detail::bell(d, d.operand(0), 1.12837916709551257390, d.gradient()));
  }
};
/// Complement of the error function:  y = 1 - erf(x), which keeps its digits for large x
///
/// x           any shape; floating-point
/// derivative  -dy 2/√π exp(-x²)
/// accuracy    5 ulp in float32
/// source      MindSpore's Erfc
struct Erfc : Elementwise<Erfc, "Erfc"> {
  static constexpr bool floating_only = true;
  template <class V>
  [[gnu::always_inline]] TENON_DEVICE static V eval(V x) {
    return math::detail::complement(x);
  }
  static constexpr void derivative(Derivative& d) {
    d.flows_to(0, detail::bell(d, d.operand(0), -1.12837916709551257390, d.gradient()));
  }
};
TENON_EXACT_END

/// The error function.
constexpr auto erf(const Operand auto& x, std::source_location at = std::source_location::current()) {
  return apply<Erf>(at, x);
}
/// 1 - erf(x)
constexpr auto erfc(const Operand auto& x, std::source_location at = std::source_location::current()) {
  return apply<Erfc>(at, x);
}

}  // namespace tenon::ops
