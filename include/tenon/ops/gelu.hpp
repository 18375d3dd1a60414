// Gaussian error linear unit, in two forms.
#pragma once
#include <tenon/core/math/elementary.hpp>
#include <tenon/ops/mul.hpp>

namespace tenon::inline TENON_ABI::ops {
TENON_EXACT_BEGIN
namespace detail {
// The tanh form: with u(x) = √(2/π) (x + 0.044715 x³), (1 + tanh u) / 2 is the sigmoid of 2u. `slope` and `bend` are
// the first and second derivative of 2u.
template <class V>
struct GeluTerms {
  static constexpr V scale = V(1.59576912160573071176), cubic = V(0.044715);
  V inverse, slope, bend;  // 1 + exp(-2u)
  TENON_DEVICE explicit GeluTerms(V x)
      : inverse(V(1) + math::exp(-scale * (x + cubic * (x * x * x)))),
        slope(scale * (V(1) + V(3) * cubic * (x * x))),
        bend(V(6) * scale * cubic * x) {}
};
// The erf form: the normal distribution at x and its density.
template <class V>
TENON_DEVICE V normal_below(V x) {
  return V(0.5) * math::erfc(x * V(-0.70710678118654752440));
}
template <class V>
TENON_DEVICE V normal_density(V x) {
  return V(0.39894228040143267794) * math::exp(V(-0.5) * (x * x));
}
}  // namespace detail

/// The second derivative of Gelu, times a factor. Not for users.
struct GeluCurvature : Elementwise<GeluCurvature, "GeLUCurvature"> {
  template <class V>
  TENON_DEVICE static V eval(V x, V factor) {
    const detail::GeluTerms<V> u(x);
    const V sigmoid = V(1) / u.inverse, rest = V(1) - sigmoid;
    return factor * (sigmoid * rest * (V(2) * u.slope + x * (u.bend + (rest - sigmoid) * (u.slope * u.slope))));
  }
  static constexpr None derivative{};
};
/// The derivative of Gelu, times the gradient from above. Not for users.
struct GeluGrad : Elementwise<GeluGrad, "GeLUGrad"> {
  template <class V>
  TENON_DEVICE static V eval(V x, V gradient) {
    const detail::GeluTerms<V> u(x);
    const V sigmoid = V(1) / u.inverse;
    return gradient * (sigmoid + x * (sigmoid * (V(1) - sigmoid) * u.slope));
  }
  static constexpr void derivative(Derivative& d) {
    d.flows_to(0, d.call<GeluCurvature>(d.operand(0), d.call<Mul>(d.operand(1), d.gradient())));
    d.flows_to(1, d.call<GeluGrad>(d.operand(0), d.gradient()));
  }
};

/// Gaussian error linear unit, tanh form:  y = x/2 (1 + tanh(√(2/π) (x + 0.044715 x³)))
///
/// x           any shape; floating-point
/// derivative  from x; a second one is given too
/// accuracy    relative 1e-7 (2 + |2u|) in float32, u the argument of tanh: computed as x / (1 + exp(-2u)), which keeps
///             the digits of very negative x that 1 + tanh loses
/// source      Hendrycks and Gimpel, arXiv 1606.08415; MindSpore's GeLU (approximate = tanh)
struct Gelu : Elementwise<Gelu, "GeLU"> {
  static constexpr bool floating_only = true;
  template <class V>
  TENON_DEVICE static V eval(V x) {
    return x / detail::GeluTerms<V>(x).inverse;
  }
  static constexpr void derivative(Derivative& d) { d.flows_to(0, d.call<GeluGrad>(d.operand(0), d.gradient())); }
};

/// The second derivative of GeluErf, times a factor: (2 - x²) φ(x). Not for users.
struct GeluErfCurvature : Elementwise<GeluErfCurvature, "GeLUErfCurvature"> {
  template <class V>
  TENON_DEVICE static V eval(V x, V factor) {
    return factor * ((V(2) - x * x) * detail::normal_density(x));
  }
  static constexpr None derivative{};
};
/// The derivative of GeluErf, times the gradient from above: Φ(x) + x φ(x). Not for users.
struct GeluErfGrad : Elementwise<GeluErfGrad, "GeLUErfGrad"> {
  template <class V>
  TENON_DEVICE static V eval(V x, V gradient) {
    return gradient * (detail::normal_below(x) + x * detail::normal_density(x));
  }
  static constexpr void derivative(Derivative& d) {
    d.flows_to(0, d.call<GeluErfCurvature>(d.operand(0), d.call<Mul>(d.operand(1), d.gradient())));
    d.flows_to(1, d.call<GeluErfGrad>(d.operand(0), d.gradient()));
  }
};

/// Gaussian error linear unit, exact form:  y = x Φ(x), Φ the normal distribution
///
/// x           any shape; floating-point
/// derivative  from x; a second one is given too
/// accuracy    relative 1e-6 in float32 while y is normal: Φ is taken from erfc, which keeps its digits far below zero
/// source      Hendrycks and Gimpel, arXiv 1606.08415; MindSpore's GeLU (approximate = none)
struct GeluErf : Elementwise<GeluErf, "GeLUErf"> {
  static constexpr bool floating_only = true;
  template <class V>
  TENON_DEVICE static V eval(V x) {
    return x * detail::normal_below(x);
  }
  static constexpr void derivative(Derivative& d) { d.flows_to(0, d.call<GeluErfGrad>(d.operand(0), d.gradient())); }
};
TENON_EXACT_END

/// Which formula gelu takes.
enum class GeluForm : int { tanh, erf };

/// Applies gelu to each element: `gelu(x)`, `gelu<GeluForm::erf>(x)`. These are two operators, because a fused step has
/// no settings.
template <GeluForm form = GeluForm::tanh>
constexpr auto gelu(const Operand auto& x, std::source_location at = std::source_location::current()) {
  return apply<std::conditional_t<form == GeluForm::tanh, Gelu, GeluErf>>(at, x);
}

}  // namespace tenon::ops
