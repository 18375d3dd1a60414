// Product of two tensors.
#pragma once
#include <tenon/core/math/wrapping.hpp>
#include <tenon/ops/binary.hpp>

namespace tenon::inline TENON_ABI::ops {
TENON_EXACT_BEGIN
/// Element-wise product with broadcasting:  y = a · b
///
/// a, b        shapes that broadcast; any dtype but bool, the same for both; integers wrap around
/// derivative  b dy and a dy, summed over broadcast axes
/// source      MindSpore's Mul
struct Mul : Elementwise<Mul, "Mul"> {
  static constexpr bool numbers_only = true;
  template <class V>
  static constexpr V eval(V a, V b) {
    return math::wrapping_multiply(a, b);
  }
  static constexpr double fold(Dtype d, double a, double b) { return folded<Mul, 2>(d, a, b); }
  static constexpr void derivative(Derivative& d) {
    d.flows_to(0, d.call<Mul>(d.gradient(), d.operand(1)));
    d.flows_to(1, d.call<Mul>(d.gradient(), d.operand(0)));
  }
};
TENON_EXACT_END

/// a * b with broadcasting; one of them may be a number.
constexpr auto mul(const OperandOrScalar auto& a, const OperandOrScalar auto& b,
                   std::source_location at = std::source_location::current()) {
  return binary<Mul>(at, a, b);
}

}  // namespace tenon::ops
