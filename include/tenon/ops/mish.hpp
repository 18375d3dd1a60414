// Mish.
#pragma once
#include <tenon/core/math/elementary.hpp>
#include <tenon/ops/mul.hpp>

namespace tenon::inline TENON_ABI::ops {
TENON_EXACT_BEGIN
namespace detail {
// With e = eˣ and q = e² + 2e + 2, tanh(ln(1 + e)) is e (e + 2) / q, its first derivative is 4e (1 + e) / q², and its
// second one 4e ((1 + 2e) q - 4e (1 + e)²) / q³. From 20 on tanh rounds to 1, and x times the others to 0.
template <class V>
struct MishTerms {
  V x, e, q;
  TENON_DEVICE explicit MishTerms(V any) : x(any > V(20) ? V(20) : any), e(math::exp(x)), q(e * (e + V(2)) + V(2)) {}
  TENON_DEVICE V tanh() const { return e * (e + V(2)) / q; }
  TENON_DEVICE V slope() const { return V(4) * (e / q) * ((V(1) + e) / q); }
  TENON_DEVICE V bend() const {
    return V(4) * (e / q) * ((V(1) + V(2) * e) / q - V(4) * (e / q) * ((V(1) + e) / q) * (V(1) + e));
  }
};
}  // namespace detail

/// The second derivative of Mish, times a factor. Not for users.
struct MishCurvature : Elementwise<MishCurvature, "MishCurvature"> {
  template <class V>
  [[gnu::always_inline]] TENON_DEVICE static V eval(V x, V factor) {
    const detail::MishTerms<V> terms(x);
    return factor * (V(2) * terms.slope() + terms.x * terms.bend());
  }
  static constexpr None derivative{};
};
/// The derivative of Mish, times the gradient from above. Not for users.
struct MishGrad : Elementwise<MishGrad, "MishGrad"> {
  template <class V>
  [[gnu::always_inline]] TENON_DEVICE static V eval(V x, V gradient) {
    const detail::MishTerms<V> terms(x);
    return gradient * (terms.tanh() + terms.x * terms.slope());
  }
  static constexpr void derivative(Derivative& d) {
    d.flows_to(0, d.call<MishCurvature>(d.operand(0), d.call<Mul>(d.operand(1), d.gradient())));
    d.flows_to(1, d.call<MishGrad>(d.operand(0), d.gradient()));
  }
};
/// Mish:  y = x tanh(softplus(x))
///
/// x           any shape; floating-point
/// derivative  from x; it has a derivative, too
/// accuracy    4 ulp in float32: computed from eˣ without a logarithm
/// source      Misra, arXiv 1908.08681; MindSpore's Mish
struct Mish : Elementwise<Mish, "Mish"> {
  static constexpr bool floating_only = true;
  template <class V>
  [[gnu::always_inline]] TENON_DEVICE static V eval(V x) {
    return x * detail::MishTerms<V>(x).tanh();
  }
  static constexpr void derivative(Derivative& d) { d.flows_to(0, d.call<MishGrad>(d.operand(0), d.gradient())); }
};
TENON_EXACT_END

/// x tanh(softplus(x))
constexpr auto mish(const Operand auto& x, std::source_location at = std::source_location::current()) {
  return apply<Mish>(at, x);
}

}  // namespace tenon::ops
