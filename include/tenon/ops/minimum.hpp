// The smaller of two elements.
#pragma once
#include <tenon/core/math/flush_denormal.hpp>
#include <tenon/ops/maximum.hpp>

namespace tenon::inline TENON_ABI::ops {
TENON_EXACT_BEGIN
/// Element-wise minimum with broadcasting; NaN where one of the two is NaN
///
/// a, b        shapes that broadcast; any dtype, the same for both
/// derivative  dy to the smaller one, half to each where they are equal, to both where one is NaN
/// source      MindSpore's Minimum
struct Minimum : Elementwise<Minimum, "Minimum"> {
  template <class V>
  static constexpr V eval(V a, V b) {
    return math::flush_denormal(a < b || a != a ? a : b);
  }
  static constexpr void derivative(Derivative& d) {
    d.flows_to(0, d.call<GreaterShare>(d.operand(1), d.operand(0), d.gradient()));
    d.flows_to(1, d.call<GreaterShare>(d.operand(0), d.operand(1), d.gradient()));
  }
};
TENON_EXACT_END

/// min(a, b) with broadcasting; one of them may be a number.
constexpr auto minimum(const OperandOrScalar auto& a, const OperandOrScalar auto& b,
                       std::source_location at = std::source_location::current()) {
  return binary<Minimum>(at, a, b);
}

}  // namespace tenon::ops
