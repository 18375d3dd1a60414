// Activations that set small elements to zero: hardshrink, softshrink.
#pragma once
#include <tenon/core/math/either.hpp>
#include <tenon/core/math/flush_denormal.hpp>
#include <tenon/ops/binary.hpp>

namespace tenon::inline TENON_ABI::ops {
TENON_EXACT_BEGIN
/// The value where |x| > lambda, else 0. Not for users.
struct WhereOutside : Elementwise<WhereOutside, "WhereOutside"> {
  template <class V>
  static constexpr V eval(V x, V lambda, V value) {
    return x > lambda || x < -lambda ? math::flush_denormal(value) : V(0);
  }
  static constexpr void derivative(Derivative& d) {
    d.flows_to(2, d.call<WhereOutside>(d.operand(0), d.operand(1), d.gradient()));
    d.no_gradient(0, 1);
  }
};
/// Hard shrinkage:  y = x where |x| > lambda, else 0
///
/// x           any shape; floating-point
/// lambda      a number of at least 0
/// derivative  dy where |x| > lambda, else 0
/// source      MindSpore's HShrink; PyTorch's hardshrink
struct Hardshrink : Elementwise<Hardshrink, "HShrink"> {
  static constexpr bool floating_only = true;
  template <class V>
  static constexpr V eval(V x, V lambda) {
    return x <= lambda && x >= -lambda ? V(0) : math::flush_denormal(x);  // NaN stays
  }
  static constexpr void derivative(Derivative& d) {
    d.flows_to(0, d.call<WhereOutside>(d.operand(0), d.operand(1), d.gradient()));
  }
};
/// Soft shrinkage:  y = x - lambda where x > lambda, x + lambda where x < -lambda, else 0
///
/// x           any shape; floating-point
/// lambda      a number of at least 0
/// derivative  dy where |x| > lambda, else 0
/// source      MindSpore's SoftShrink; PyTorch's softshrink
struct Softshrink : Elementwise<Softshrink, "SoftShrink"> {
  static constexpr bool floating_only = true;
  template <class V>
  static constexpr V eval(V x, V lambda) {
    const V above = x - lambda, below = x + lambda;
    const V inside = math::either(x != x, x, V(0));  // NaN stays
    return math::either(x > lambda, above, math::either(x < -lambda, below, inside));
  }
  static constexpr void derivative(Derivative& d) {
    d.flows_to(0, d.call<WhereOutside>(d.operand(0), d.operand(1), d.gradient()));
  }
};
TENON_EXACT_END

/// x where |x| > lambda, else 0
constexpr auto hardshrink(const Operand auto& x, double lambda = 0.5,
                          std::source_location at = std::source_location::current()) {
  return binary<Hardshrink>(at, x, lambda);
}
/// x moved towards 0 by lambda, and 0 where |x| ≤ lambda
constexpr auto softshrink(const Operand auto& x, double lambda = 0.5,
                          std::source_location at = std::source_location::current()) {
  return binary<Softshrink>(at, x, lambda);
}

}  // namespace tenon::ops
