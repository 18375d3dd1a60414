// Rectified linear unit.
#pragma once
#include <tenon/core/math/either.hpp>
#include <tenon/core/math/flush_denormal.hpp>
#include <tenon/ops/elementwise.hpp>

namespace tenon::inline TENON_ABI::ops {
TENON_EXACT_BEGIN
/// The derivative of relu, times the gradient from above: 0 where y <= 0, else dy, also where y is NaN. Not for users.
struct ReluGrad : Elementwise<ReluGrad, "ReluGrad"> {
  template <class V>
  static constexpr V eval(V y, V gradient) {
    return math::either(y <= V(0), V(0), gradient);
  }
  static constexpr void derivative(Derivative& d) {
    d.flows_to(1, d.call<ReluGrad>(d.operand(0), d.gradient()));
    d.no_gradient(0);
  }
};

/// Rectified linear unit:  y = max(x, 0)
///
/// x           any shape; floating-point and signed integer dtypes
/// derivative  from y; 0 at x = 0
/// special     NaN and -0 stay what they are; a NaN lets the gradient through, as in PyTorch
/// source      Nair and Hinton 2010; MindSpore's ReLU
struct Relu : Elementwise<Relu, "ReLU"> {
  template <class V>
  static constexpr V eval(V x) {
    return x < V(0) ? V(0) : math::flush_denormal(x);
  }
  static constexpr void derivative(Derivative& d) { d.flows_to(0, d.call<ReluGrad>(d.result(), d.gradient())); }
};
TENON_EXACT_END

/// max(x, 0) element by element; shape and dtype of x.
constexpr auto relu(const Operand auto& x, std::source_location at = std::source_location::current()) {
  return apply<Relu>(at, x);
}

}  // namespace tenon::ops
