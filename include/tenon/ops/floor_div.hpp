// Quotient rounded down.
#pragma once
#include <tenon/core/math/elementary.hpp>
#include <tenon/core/math/wrapping.hpp>
#include <tenon/ops/binary.hpp>

namespace tenon::inline TENON_ABI::ops {
TENON_EXACT_BEGIN
/// Element-wise quotient rounded towards minus infinity, with broadcasting:  y = floor(a / b)
///
/// a, b        shapes that broadcast; any dtype but bool, the same for both
/// derivative  zero almost everywhere, so none flows
/// zero        an integer divided by zero gives 0, where C++ would trap; floating-point infinity or NaN
/// source      MindSpore's FloorDiv, PyTorch's floor_divide
struct FloorDiv : Elementwise<FloorDiv, "FloorDiv"> {
  static constexpr bool numbers_only = true;
  template <class V>
  TENON_DEVICE static V eval(V a, V b) {
    if constexpr (std::is_integral_v<V>) {
      if (b == V(0)) return V(0);
      if constexpr (std::is_signed_v<V>)
        if (b == V(-1)) return math::wrapping_negate(a);  // the smallest integer has no opposite
      const V quotient = static_cast<V>(a / b);
      return (a % b != 0 && (a < V(0)) != (b < V(0))) ? static_cast<V>(quotient - 1) : quotient;
    } else return math::floor(a / b);
  }
  static constexpr void derivative(Derivative& d) { d.no_gradient(); }
};
TENON_EXACT_END

/// floor(a / b) with broadcasting, in the dtype of the operands; one of them may be a number.
constexpr auto floor_div(const OperandOrScalar auto& a, const OperandOrScalar auto& b,
                         std::source_location at = std::source_location::current()) {
  return binary<FloorDiv>(at, a, b);
}

}  // namespace tenon::ops
