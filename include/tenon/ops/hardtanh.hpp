// Activations with straight pieces: hardtanh, relu6, hsigmoid, hswish.
#pragma once
#include <tenon/core/math/either.hpp>
#include <tenon/core/math/flush_denormal.hpp>
#include <tenon/ops/binary.hpp>
#include <tenon/ops/mul.hpp>

namespace tenon::inline TENON_ABI::ops {
TENON_EXACT_BEGIN
/// The value where low < x < high, else 0. Not for users.
struct WhereBetween : Elementwise<WhereBetween, "WhereBetween"> {
  template <class V>
  static constexpr V eval(V x, V low, V high, V value) {
    return math::either((x > low) & (x < high), math::flush_denormal(value), V(0));
  }
  static constexpr void derivative(Derivative& d) {
    d.flows_to(3, d.call<WhereBetween>(d.operand(0), d.operand(1), d.operand(2), d.gradient()));
    d.no_gradient(0, 1, 2);
  }
};

/// x limited to [low, high]
///
/// x           any shape; floating-point
/// low, high   numbers
/// derivative  dy where low < x < high, else 0, also at low and high, where clip_by_value differs
/// source      MindSpore's Hardtanh, ReLU6; PyTorch's hardtanh
struct Hardtanh : Elementwise<Hardtanh, "Hardtanh"> {
  static constexpr bool floating_only = true;
  template <class V>
  static constexpr V eval(V x, V low, V high) {
    return x < low ? low : x > high ? high : math::flush_denormal(x);
  }
  static constexpr void derivative(Derivative& d) {
    d.flows_to(0, d.call<WhereBetween>(d.operand(0), d.operand(1), d.operand(2), d.gradient()));
  }
};

/// The value times a slope where -3 < x < 3, else 0. Not for users.
struct HsigmoidGrad : Elementwise<HsigmoidGrad, "HSigmoidGrad"> {
  template <class V>
  static constexpr V eval(V x, V slope, V value) {
    return math::either((x > V(-3)) & (x < V(3)), value * slope, V(0));
  }
  static constexpr void derivative(Derivative& d) {
    d.flows_to(2, d.call<HsigmoidGrad>(d.operand(0), d.operand(1), d.gradient()));
    d.no_gradient(0, 1);
  }
};
/// Hard sigmoid:  y = min(max(x + 3, 0), 6) / 6
///
/// x           any shape; floating-point
/// derivative  dy / 6 where -3 < x < 3, else 0
/// source      Howard and others, arXiv 1905.02244; MindSpore's HSigmoid
struct Hsigmoid : Elementwise<Hsigmoid, "HSigmoid"> {
  static constexpr bool floating_only = true;
  template <class V>
  static constexpr V eval(V x) {
    const V sum = x + V(3);
    return math::either(sum < V(0), V(0), math::either(sum > V(6), V(6), sum)) / V(6);
  }
  static constexpr void derivative(Derivative& d) {
    d.flows_to(0, d.call<HsigmoidGrad>(d.operand(0), d.constant(1.0 / 6), d.gradient()));
  }
};

/// The derivative of Hswish, times the gradient from above. Not for users.
struct HswishGrad : Elementwise<HswishGrad, "HSwishGrad"> {
  template <class V>
  static constexpr V eval(V x, V gradient) {
    const V between = gradient * (x / V(3) + V(0.5));
    return math::either(x <= V(-3), V(0), math::either(x < V(3), between, math::flush_denormal(gradient)));
  }
  static constexpr void derivative(Derivative& d) {
    const int factor = d.call<Mul>(d.operand(1), d.gradient());
    d.flows_to(0, d.call<HsigmoidGrad>(d.operand(0), d.constant(1.0 / 3), factor));
    d.flows_to(1, d.call<HswishGrad>(d.operand(0), d.gradient()));
  }
};
/// Hard swish:  y = x min(max(x + 3, 0), 6) / 6
///
/// x           any shape; floating-point
/// derivative  dy (x / 3 + 1/2) where -3 < x < 3, 0 at -3 and below, dy from 3 on; it has a derivative, too
/// source      Howard and others, arXiv 1905.02244; MindSpore's HSwish
struct Hswish : Elementwise<Hswish, "HSwish"> {
  static constexpr bool floating_only = true;
  template <class V>
  static constexpr V eval(V x) {
    const V sum = x + V(3);
    return x * math::either(sum < V(0), V(0), math::either(sum > V(6), V(6), sum)) / V(6);
  }
  static constexpr void derivative(Derivative& d) { d.flows_to(0, d.call<HswishGrad>(d.operand(0), d.gradient())); }
};
TENON_EXACT_END

/// x limited to [low, high]
template <Operand X>
constexpr auto hardtanh(const X& x, double low = -1, double high = 1,
                        std::source_location at = std::source_location::current()) {
  using T = ElementOf<X>;
  return apply<Hardtanh>(at, x, Number<T>(low), Number<T>(high));
}
/// x limited to [0, 6]
constexpr auto relu6(const Operand auto& x, std::source_location at = std::source_location::current()) {
  return hardtanh(x, 0, 6, at);
}
/// min(max(x + 3, 0), 6) / 6
constexpr auto hsigmoid(const Operand auto& x, std::source_location at = std::source_location::current()) {
  return apply<Hsigmoid>(at, x);
}
/// x min(max(x + 3, 0), 6) / 6
constexpr auto hswish(const Operand auto& x, std::source_location at = std::source_location::current()) {
  return apply<Hswish>(at, x);
}

}  // namespace tenon::ops
