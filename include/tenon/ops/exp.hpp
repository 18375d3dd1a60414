// Exponential.
#pragma once
#include <tenon/core/math/elementary.hpp>
#include <tenon/ops/mul.hpp>

namespace tenon::inline TENON_ABI::ops {
TENON_EXACT_BEGIN
/// Exponential:  y = eˣ
///
/// x           any shape; floating-point
/// derivative  y dy
/// accuracy    that of math::exp (core/math/elementary.hpp)
/// source      MindSpore's Exp
struct Exp : Elementwise<Exp, "Exp"> {
  static constexpr bool floating_only = true;
  template <class V>
  TENON_DEVICE static V eval(V x) {
    return math::exp(x);
  }
  static constexpr void derivative(Derivative& d) { d.flows_to(0, d.call<Mul>(d.result(), d.gradient())); }
};
TENON_EXACT_END

/// eˣ
constexpr auto exp(const Operand auto& x, std::source_location at = std::source_location::current()) {
  return apply<Exp>(at, x);
}

}  // namespace tenon::ops
