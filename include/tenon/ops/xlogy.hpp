// Product with a logarithm, as in entropies.
#pragma once
#include <tenon/core/math/either.hpp>
#include <tenon/core/math/flush_denormal.hpp>
#include <tenon/core/math/logarithm.hpp>
#include <tenon/ops/div.hpp>
#include <tenon/ops/mul.hpp>

namespace tenon::inline TENON_ABI::ops {
TENON_EXACT_BEGIN
/// 0 where x = 0 and y ≤ 0, else the value. Not for users.
struct XlogyLimit : Elementwise<XlogyLimit, "XlogyLimit"> {
  template <class V>
  static constexpr V eval(V x, V y, V value) {
    return x == V(0) && y <= V(0) ? V(0) : math::flush_denormal(value);
  }
  static constexpr void derivative(Derivative& d) {
    d.flows_to(2, d.call<XlogyLimit>(d.operand(0), d.operand(1), d.gradient()));
    d.no_gradient(0, 1);
  }
};
/// Element-wise product of one operand with the logarithm of the other, with broadcasting:  z = x ln y; 0 where x = 0,
/// unless y is NaN
///
/// x, y        shapes that broadcast; floating-point, the same dtype for both
/// derivative  dz ln y for x (0 where x = 0 and y ≤ 0), dz x / y for y
/// source      MindSpore's Xlogy, PyTorch's xlogy
struct Xlogy : Elementwise<Xlogy, "Xlogy"> {
  static constexpr bool floating_only = true;
  template <class V>
  [[gnu::always_inline]] TENON_DEVICE static V eval(V x, V y) {
    const V value = x * math::detail::logarithm(y);
    return math::either((x == V(0)) & (y == y), V(0), value);
  }
  static constexpr void derivative(Derivative& d) {
    const int x = d.operand(0), y = d.operand(1);
    d.flows_to(0, d.call<XlogyLimit>(x, y, d.call<Xlogy>(d.gradient(), y)));
    d.flows_to(1, d.call<Mul>(d.gradient(), d.call<Div>(x, y)));
  }
};
TENON_EXACT_END

/// x ln y, 0 where x = 0, with broadcasting; one of them may be a number.
constexpr auto xlogy(const OperandOrScalar auto& x, const OperandOrScalar auto& y,
                     std::source_location at = std::source_location::current()) {
  return binary<Xlogy>(at, x, y);
}

}  // namespace tenon::ops
