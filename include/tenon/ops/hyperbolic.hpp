// Hyperbolic functions beside tanh, and inverses: sinh, cosh, asinh, acosh, atanh.
#pragma once
#include <tenon/core/math/hyperbolic.hpp>
#include <tenon/ops/div.hpp>
#include <tenon/ops/mul.hpp>
#include <tenon/ops/rsqrt.hpp>
#include <tenon/ops/square.hpp>
#include <tenon/ops/sub.hpp>

namespace tenon::inline TENON_ABI::ops {
TENON_EXACT_BEGIN
struct Cosh;
/// Hyperbolic sine
///
/// x           any shape; floating-point
/// derivative  dy cosh(x)
/// accuracy    1.7 ulp in float32
/// source      MindSpore's Sinh
struct Sinh : Elementwise<Sinh, "Sinh"> {
  static constexpr bool floating_only = true;
  template <class V>
  [[gnu::always_inline]] TENON_DEVICE static V eval(V x) {
    return math::sinh(x);
  }
  static constexpr void derivative(Derivative& d);
};
/// Hyperbolic cosine
///
/// x           any shape; floating-point
/// derivative  dy sinh(x)
/// accuracy    1.5 ulp in float32
/// source      MindSpore's Cosh
struct Cosh : Elementwise<Cosh, "Cosh"> {
  static constexpr bool floating_only = true;
  template <class V>
  [[gnu::always_inline]] TENON_DEVICE static V eval(V x) {
    return math::cosh(x);
  }
  static constexpr void derivative(Derivative& d) {
    d.flows_to(0, d.call<Mul>(d.gradient(), d.call<Sinh>(d.operand(0))));
  }
};
constexpr void Sinh::derivative(Derivative& d) { d.flows_to(0, d.call<Mul>(d.gradient(), d.call<Cosh>(d.operand(0)))); }
/// Inverse of the hyperbolic sine
///
/// x           any shape; floating-point
/// derivative  dy / √(x² + 1)
/// accuracy    2.2 ulp in float32
/// source      MindSpore's Asinh
struct Asinh : Elementwise<Asinh, "Asinh"> {
  static constexpr bool floating_only = true;
  template <class V>
  [[gnu::always_inline]] TENON_DEVICE static V eval(V x) {
    return math::asinh(x);
  }
  static constexpr void derivative(Derivative& d) {
    const int sum = d.call<Add>(d.call<Square>(d.operand(0)), d.constant(1));
    d.flows_to(0, d.call<Mul>(d.gradient(), d.call<Rsqrt>(sum)));
  }
};
/// Inverse of the hyperbolic cosine; NaN below 1
///
/// x           any shape; floating-point
/// derivative  dy / √(x² - 1)
/// accuracy    2.8 ulp in float32
/// source      MindSpore's Acosh
struct Acosh : Elementwise<Acosh, "Acosh"> {
  static constexpr bool floating_only = true;
  template <class V>
  [[gnu::always_inline]] TENON_DEVICE static V eval(V x) {
    return math::acosh(x);
  }
  static constexpr void derivative(Derivative& d) {
    const int x = d.operand(0), one = d.constant(1);
    const int rest = d.call<Mul>(d.call<Sub>(x, one), d.call<Add>(x, one));
    d.flows_to(0, d.call<Mul>(d.gradient(), d.call<Rsqrt>(rest)));
  }
};
/// Inverse of the hyperbolic tangent; NaN beyond 1
///
/// x           any shape; floating-point
/// derivative  dy / (1 - x²)
/// accuracy    2.5 ulp in float32
/// source      MindSpore's Atanh
struct Atanh : Elementwise<Atanh, "Atanh"> {
  static constexpr bool floating_only = true;
  template <class V>
  [[gnu::always_inline]] TENON_DEVICE static V eval(V x) {
    return math::atanh(x);
  }
  static constexpr void derivative(Derivative& d) {
    const int x = d.operand(0), one = d.constant(1);
    d.flows_to(0, d.call<Div>(d.gradient(), d.call<Mul>(d.call<Sub>(one, x), d.call<Add>(x, one))));
  }
};
TENON_EXACT_END

/// The hyperbolic sine.
constexpr auto sinh(const Operand auto& x, std::source_location at = std::source_location::current()) {
  return apply<Sinh>(at, x);
}
/// The hyperbolic cosine.
constexpr auto cosh(const Operand auto& x, std::source_location at = std::source_location::current()) {
  return apply<Cosh>(at, x);
}
/// The number whose hyperbolic sine is x.
constexpr auto asinh(const Operand auto& x, std::source_location at = std::source_location::current()) {
  return apply<Asinh>(at, x);
}
/// The number, not negative, whose hyperbolic cosine is x.
constexpr auto acosh(const Operand auto& x, std::source_location at = std::source_location::current()) {
  return apply<Acosh>(at, x);
}
/// The number whose hyperbolic tangent is x.
constexpr auto atanh(const Operand auto& x, std::source_location at = std::source_location::current()) {
  return apply<Atanh>(at, x);
}

}  // namespace tenon::ops
