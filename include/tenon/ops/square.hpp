// Square.
#pragma once
#include <tenon/core/math/wrapping.hpp>
#include <tenon/ops/mul.hpp>

namespace tenon::inline TENON_ABI::ops {
TENON_EXACT_BEGIN
/// Square:  y = x²
///
/// x           any shape; any dtype but bool; integers wrap around
/// derivative  2 x dy
/// source      MindSpore's Square
struct Square : Elementwise<Square, "Square"> {
  static constexpr bool numbers_only = true;
  template <class V>
  static constexpr V eval(V x) {
    return math::wrapping_multiply(x, x);
  }
  static constexpr void derivative(Derivative& d) {
    d.flows_to(0, d.call<Mul>(d.call<Add>(d.operand(0), d.operand(0)), d.gradient()));
  }
};
TENON_EXACT_END

/// x²
constexpr auto square(const Operand auto& x, std::source_location at = std::source_location::current()) {
  return apply<Square>(at, x);
}

}  // namespace tenon::ops
