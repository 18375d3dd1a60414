// Square root whose derivative at 0 is 0, for norms and standard deviations.
#pragma once
#include <tenon/core/math/either.hpp>
#include <tenon/core/math/elementary.hpp>
#include <tenon/ops/elementwise.hpp>
#include <tenon/ops/mul.hpp>

namespace tenon::inline TENON_ABI::ops {
TENON_EXACT_BEGIN
/// dy / 2y, and 0 where the root y is 0. Operands: y, dy. Not for users.
struct SafeSqrtGrad : Elementwise<SafeSqrtGrad, "SafeSqrtGrad"> {
  template <class V>
  static constexpr V eval(V y, V gradient) {
    return math::either(y == V(0), V(0), V(0.5) * gradient / y);
  }
  static constexpr void derivative(Derivative& d) {
    const int y = d.operand(0), once = d.call<SafeSqrtGrad>(y, d.gradient());
    d.flows_to(0, d.call<Mul>(d.call<SafeSqrtGrad>(y, d.call<Mul>(d.operand(1), once)), d.constant(-2)));
    d.flows_to(1, once);
  }
};

/// y = √x, with the derivative 0 at 0, where a norm has a kink and PyTorch takes this subgradient. Not for users.
struct SafeSqrt : Elementwise<SafeSqrt, "SafeSqrt"> {
  static constexpr bool floating_only = true;
  template <class V>
  TENON_DEVICE static V eval(V x) {
    return math::sqrt(x);
  }
  static constexpr void derivative(Derivative& d) { d.flows_to(0, d.call<SafeSqrtGrad>(d.result(), d.gradient())); }
};
TENON_EXACT_END
}  // namespace tenon::ops
