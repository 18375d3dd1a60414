// Length of the hypotenuse of a right triangle.
#pragma once
#include <tenon/core/math/division.hpp>
#include <tenon/ops/div.hpp>
#include <tenon/ops/mul.hpp>

namespace tenon::inline TENON_ABI::ops {
TENON_EXACT_BEGIN
/// Element-wise length of the hypotenuse, with broadcasting:  y = √(a² + b²), without overflow in between
///
/// a, b        shapes that broadcast; floating-point, the same dtype for both
/// derivative  dy a / y and dy b / y; NaN where both are 0, as in PyTorch
/// accuracy    1.5 ulp in float32
/// special     infinity where one is infinite, also beside a NaN
/// source      MindSpore's hypot, PyTorch's hypot
struct Hypot : Elementwise<Hypot, "Hypot"> {
  static constexpr bool floating_only = true;
  template <class V>
  [[gnu::always_inline]] TENON_DEVICE static V eval(V a, V b) {
    return math::hypot(a, b);
  }
  static constexpr void derivative(Derivative& d) {
    for (const int k : {0, 1}) d.flows_to(k, d.call<Mul>(d.gradient(), d.call<Div>(d.operand(k), d.result())));
  }
};
TENON_EXACT_END

/// √(a² + b²), with broadcasting; one of them may be a number.
constexpr auto hypot(const OperandOrScalar auto& a, const OperandOrScalar auto& b,
                     std::source_location at = std::source_location::current()) {
  return binary<Hypot>(at, a, b);
}

}  // namespace tenon::ops
