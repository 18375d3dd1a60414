// Negation.
#pragma once
#include <tenon/core/math/wrapping.hpp>
#include <tenon/ops/elementwise.hpp>

namespace tenon::inline TENON_ABI::ops {
TENON_EXACT_BEGIN
/// Negation:  y = -x
///
/// x           any shape; any dtype but bool; integers wrap around
/// derivative  -dy
/// source      MindSpore's Neg
struct Neg : Elementwise<Neg, "Neg"> {
  static constexpr bool numbers_only = true;
  template <class V>
  static constexpr V eval(V x) {
    return math::wrapping_negate(x);
  }
  static constexpr double fold(Dtype d, double a, double b) { return folded<Neg, 1>(d, a, b); }
  static constexpr void derivative(Derivative& d) { d.flows_to(0, d.call<Neg>(d.gradient())); }
};
TENON_EXACT_END

/// -x
constexpr auto neg(const Operand auto& x, std::source_location at = std::source_location::current()) {
  return apply<Neg>(at, x);
}

}  // namespace tenon::ops
