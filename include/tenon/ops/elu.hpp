// Exponential linear units: elu, celu, selu.
#pragma once
#include <tenon/core/math/either.hpp>
#include <tenon/core/math/exponential.hpp>
#include <tenon/ops/div.hpp>
#include <tenon/ops/leaky_relu.hpp>

namespace tenon::inline TENON_ABI::ops {
TENON_EXACT_BEGIN
/// The derivative of Elu, times the gradient from above: dy alpha eˣ where x ≤ 0, else dy. Not for users.
struct EluGrad : Elementwise<EluGrad, "ELUGrad"> {
  template <class V>
  [[gnu::always_inline]] TENON_DEVICE static V eval(V x, V alpha, V gradient) {
    const V below = gradient * (alpha * math::exp(x));
    return math::either(x <= V(0), below, math::flush_denormal(gradient));
  }
  static constexpr void derivative(Derivative& d) {
    const int x = d.operand(0), alpha = d.operand(1), factor = d.call<Mul>(d.operand(2), d.gradient());
    d.flows_to(0, d.call<WhereNotPositive>(x, d.call<EluGrad>(x, alpha, factor)));
    d.flows_to(2, d.call<EluGrad>(x, alpha, d.gradient()));
  }
};
/// Exponential linear unit:  y = x where x > 0, else alpha (eˣ - 1)
///
/// x           any shape; floating-point
/// alpha       a number
/// derivative  1 where x > 0, else alpha eˣ; it has a derivative, too
/// source      Clevert and others, arXiv 1511.07289; MindSpore's Elu
struct Elu : Elementwise<Elu, "ELU"> {
  static constexpr bool floating_only = true;
  template <class V>
  [[gnu::always_inline]] TENON_DEVICE static V eval(V x, V alpha) {
    const V below = alpha * math::expm1(x);
    return math::either(x <= V(0), below, math::flush_denormal(x));
  }
  static constexpr void derivative(Derivative& d) {
    d.flows_to(0, d.call<EluGrad>(d.operand(0), d.operand(1), d.gradient()));
  }
};

/// The derivative of Celu, times the gradient from above. Not for users.
struct CeluGrad : Elementwise<CeluGrad, "CELUGrad"> {
  template <class V>
  [[gnu::always_inline]] TENON_DEVICE static V eval(V x, V alpha, V gradient) {
    const V below = gradient * math::exp(x / alpha);
    return math::either(x <= V(0), below, math::flush_denormal(gradient));
  }
  static constexpr void derivative(Derivative& d) {
    const int x = d.operand(0), alpha = d.operand(1), factor = d.call<Mul>(d.operand(2), d.gradient());
    d.flows_to(0, d.call<WhereNotPositive>(x, d.call<Div>(d.call<CeluGrad>(x, alpha, factor), alpha)));
    d.flows_to(2, d.call<CeluGrad>(x, alpha, d.gradient()));
  }
};
/// Continuously differentiable exponential linear unit:  y = x where x > 0, else alpha (e^(x / alpha) - 1)
///
/// x           any shape; floating-point
/// alpha       a number other than 0
/// derivative  1 where x > 0, else e^(x / alpha); it has a derivative, too
/// source      Barron, arXiv 1704.07483; MindSpore's CeLU
struct Celu : Elementwise<Celu, "CELU"> {
  static constexpr bool floating_only = true;
  template <class V>
  [[gnu::always_inline]] TENON_DEVICE static V eval(V x, V alpha) {
    const V below = alpha * math::expm1(x / alpha);
    return math::either(x <= V(0), below, math::flush_denormal(x));
  }
  static constexpr void derivative(Derivative& d) {
    d.flows_to(0, d.call<CeluGrad>(d.operand(0), d.operand(1), d.gradient()));
  }
};

/// Scaled exponential linear unit:  y = scale elu(x, alpha), with constants that keep mean and variance
///
/// x           any shape; floating-point
/// derivative  scale times that of elu; it has a derivative, too
/// source      Klambauer and others, arXiv 1706.02515; MindSpore's SeLU
struct Selu : Elementwise<Selu, "SeLU"> {
  static constexpr bool floating_only = true;
  static constexpr double alpha = 1.6732632423543772848, scale = 1.0507009873554804934;
  template <class V>
  [[gnu::always_inline]] TENON_DEVICE static V eval(V x) {
    return V(scale) * math::either(x <= V(0), V(alpha) * math::expm1(x), x);
  }
  static constexpr void derivative(Derivative& d) {
    const int slope = d.call<EluGrad>(d.operand(0), d.constant(alpha), d.gradient());
    d.flows_to(0, d.call<Mul>(slope, d.constant(scale)));
  }
};
TENON_EXACT_END

/// x where x > 0, else alpha (eˣ - 1)
constexpr auto elu(const Operand auto& x, double alpha = 1, std::source_location at = std::source_location::current()) {
  return binary<Elu>(at, x, alpha);
}
/// x where x > 0, else alpha (e^(x / alpha) - 1)
constexpr auto celu(const Operand auto& x, double alpha = 1,
                    std::source_location at = std::source_location::current()) {
  return binary<Celu>(at, x, alpha);
}
/// 1.0507 elu(x, 1.6733)
constexpr auto selu(const Operand auto& x, std::source_location at = std::source_location::current()) {
  return apply<Selu>(at, x);
}

}  // namespace tenon::ops
