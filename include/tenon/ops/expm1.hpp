// Exponentials beside exp: expm1, exp2.
#pragma once
#include <tenon/core/math/exponential.hpp>
#include <tenon/ops/mul.hpp>

namespace tenon::inline TENON_ABI::ops {
TENON_EXACT_BEGIN
/// Exponential minus 1:  y = eˣ - 1, which keeps its digits near 0
///
/// x           any shape; floating-point
/// derivative  dy (y + 1)
/// accuracy    1.5 ulp in float32
/// source      MindSpore's Expm1
struct Expm1 : Elementwise<Expm1, "Expm1"> {
  static constexpr bool floating_only = true;
  template <class V>
  [[gnu::always_inline]] TENON_DEVICE static V eval(V x) {
    return math::expm1(x);
  }
  static constexpr void derivative(Derivative& d) {
    d.flows_to(0, d.call<Mul>(d.gradient(), d.call<Add>(d.result(), d.constant(1))));
  }
};
/// Power of two:  y = 2ˣ
///
/// x           any shape; floating-point
/// derivative  dy y ln 2
/// accuracy    1 ulp in float32
/// source      MindSpore's exp2, PyTorch's exp2
struct Exp2 : Elementwise<Exp2, "Exp2"> {
  static constexpr bool floating_only = true;
  template <class V>
  [[gnu::always_inline]] TENON_DEVICE static V eval(V x) {
    return math::exp2(x);
  }
  static constexpr void derivative(Derivative& d) {
    d.flows_to(0, d.call<Mul>(d.gradient(), d.call<Mul>(d.result(), d.constant(0.69314718055994530942))));
  }
};
TENON_EXACT_END

/// eˣ - 1
constexpr auto expm1(const Operand auto& x, std::source_location at = std::source_location::current()) {
  return apply<Expm1>(at, x);
}
/// 2ˣ
constexpr auto exp2(const Operand auto& x, std::source_location at = std::source_location::current()) {
  return apply<Exp2>(at, x);
}

}  // namespace tenon::ops
