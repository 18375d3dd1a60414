// The larger of two elements.
#pragma once
#include <tenon/core/math/either.hpp>
#include <tenon/core/math/flush_denormal.hpp>
#include <tenon/ops/binary.hpp>

namespace tenon::inline TENON_ABI::ops {
TENON_EXACT_BEGIN
/// The share of a gradient that the first operand gets: 0 where a < b, half of dy where they are equal, else dy, also
/// where one is NaN. Not for users.
struct GreaterShare : Elementwise<GreaterShare, "GreaterShare"> {
  template <class V>
  static constexpr V eval(V a, V b, V gradient) {
    return math::either(a < b, V(0), math::either(a == b, gradient * V(0.5), gradient));
  }
  static constexpr void derivative(Derivative& d) {
    d.flows_to(2, d.call<GreaterShare>(d.operand(0), d.operand(1), d.gradient()));
    d.no_gradient(0, 1);
  }
};

/// Element-wise maximum with broadcasting; NaN where one of the two is NaN
///
/// a, b        shapes that broadcast; any dtype, the same for both
/// derivative  dy to the larger one; half to each where they are equal (as PyTorch, and the only choice that does not
///             depend on the order of operands); dy to both where one is NaN
/// source      MindSpore's Maximum
struct Maximum : Elementwise<Maximum, "Maximum"> {
  template <class V>
  static constexpr V eval(V a, V b) {
    return math::flush_denormal(a > b || a != a ? a : b);
  }
  static constexpr void derivative(Derivative& d) {
    d.flows_to(0, d.call<GreaterShare>(d.operand(0), d.operand(1), d.gradient()));
    d.flows_to(1, d.call<GreaterShare>(d.operand(1), d.operand(0), d.gradient()));
  }
};
TENON_EXACT_END

/// max(a, b) with broadcasting; one of them may be a number.
constexpr auto maximum(const OperandOrScalar auto& a, const OperandOrScalar auto& b,
                       std::source_location at = std::source_location::current()) {
  return binary<Maximum>(at, a, b);
}

}  // namespace tenon::ops
