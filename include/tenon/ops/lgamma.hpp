// The gamma function: its logarithm lgamma, and the derivative of that, digamma.
#pragma once
#include <tenon/core/math/gamma.hpp>
#include <tenon/ops/mul.hpp>

namespace tenon::inline TENON_ABI::ops {
TENON_EXACT_BEGIN
/// The derivative of Digamma. Not for users.
struct Trigamma : Elementwise<Trigamma, "Trigamma"> {
  template <class V>
  [[gnu::always_inline]] TENON_DEVICE static V eval(V x) {
    return math::trigamma(x);
  }
  static constexpr None derivative{};
};
/// Derivative of the logarithm of the gamma function
///
/// x           any shape; floating-point
/// derivative  dy times the trigamma function, which has no derivative
/// accuracy    1 ulp in float32; 1e-14 in float64, absolutely or relatively
/// special     -infinity at 0, infinity at -0, NaN at negative whole numbers and at -infinity
/// source      MindSpore's Digamma
struct Digamma : Elementwise<Digamma, "Digamma"> {
  static constexpr bool floating_only = true;
  template <class V>
  [[gnu::always_inline]] TENON_DEVICE static V eval(V x) {
    return math::digamma(x);
  }
  static constexpr void derivative(Derivative& d) {
    d.flows_to(0, d.call<Mul>(d.gradient(), d.call<Trigamma>(d.operand(0))));
  }
};
/// Logarithm of the absolute value of the gamma function
///
/// x           any shape; floating-point
/// derivative  dy digamma(x); it has a derivative, too
/// accuracy    1.5 ulp in float32
/// special     infinity at 0, at negative whole numbers, and at either infinity
/// source      MindSpore's Lgamma
struct Lgamma : Elementwise<Lgamma, "Lgamma"> {
  static constexpr bool floating_only = true;
  template <class V>
  [[gnu::always_inline]] TENON_DEVICE static V eval(V x) {
    return math::lgamma(x);
  }
  static constexpr void derivative(Derivative& d) {
    d.flows_to(0, d.call<Mul>(d.gradient(), d.call<Digamma>(d.operand(0))));
  }
};
TENON_EXACT_END

/// ln |Γ(x)|
constexpr auto lgamma(const Operand auto& x, std::source_location at = std::source_location::current()) {
  return apply<Lgamma>(at, x);
}
/// The derivative of lgamma.
constexpr auto digamma(const Operand auto& x, std::source_location at = std::source_location::current()) {
  return apply<Digamma>(at, x);
}

}  // namespace tenon::ops
