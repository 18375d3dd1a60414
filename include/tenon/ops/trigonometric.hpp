// Trigonometric functions and their inverses: sin, cos, tan, asin, acos, atan, atan2.
#pragma once
#include <tenon/core/math/either.hpp>
#include <tenon/core/math/trigonometric.hpp>
#include <tenon/ops/div.hpp>
#include <tenon/ops/elementwise_usual.hpp>
#include <tenon/ops/mul.hpp>
#include <tenon/ops/neg.hpp>
#include <tenon/ops/rsqrt.hpp>
#include <tenon/ops/square.hpp>
#include <tenon/ops/sub.hpp>

namespace tenon::inline TENON_ABI::ops {
TENON_EXACT_BEGIN
struct Cos;
/// Sine of an angle in radians; NaN at infinity
///
/// x           any shape; floating-point
/// derivative  dy cos(x)
/// accuracy    2.4 ulp in float32, for all arguments
/// source      MindSpore's Sin
struct Sin : ElementwiseUsual<Sin, "Sin"> {
  static constexpr bool floating_only = true;
  template <class V>
  [[gnu::always_inline]] TENON_DEVICE static bool usual(V x) {
    return math::is_usual_angle(x);
  }
  template <class V>
  [[gnu::always_inline]] TENON_DEVICE static V eval_usual(V x) {
    return math::usual_sin(x);
  }
  template <class V>
  [[gnu::always_inline]] TENON_DEVICE static V eval(V x) {
    return math::sin(x);
  }
  static constexpr void derivative(Derivative& d);
};
/// Cosine of an angle in radians; NaN at infinity
///
/// x           any shape; floating-point
/// derivative  -dy sin(x)
/// accuracy    2.4 ulp in float32, for all arguments
/// source      MindSpore's Cos
struct Cos : ElementwiseUsual<Cos, "Cos"> {
  static constexpr bool floating_only = true;
  template <class V>
  [[gnu::always_inline]] TENON_DEVICE static bool usual(V x) {
    return math::is_usual_angle(x);
  }
  template <class V>
  [[gnu::always_inline]] TENON_DEVICE static V eval_usual(V x) {
    return math::usual_cos(x);
  }
  template <class V>
  [[gnu::always_inline]] TENON_DEVICE static V eval(V x) {
    return math::cos(x);
  }
  static constexpr void derivative(Derivative& d) {
    d.flows_to(0, d.call<Mul>(d.gradient(), d.call<Neg>(d.call<Sin>(d.operand(0)))));
  }
};
constexpr void Sin::derivative(Derivative& d) { d.flows_to(0, d.call<Mul>(d.gradient(), d.call<Cos>(d.operand(0)))); }
/// Tangent of an angle in radians; NaN at infinity
///
/// x           any shape; floating-point
/// derivative  dy (1 + y²)
/// accuracy    3.2 ulp in float32, for all arguments
/// source      MindSpore's Tan
struct Tan : ElementwiseUsual<Tan, "Tan"> {
  static constexpr bool floating_only = true;
  template <class V>
  [[gnu::always_inline]] TENON_DEVICE static bool usual(V x) {
    return math::is_usual_angle(x);
  }
  template <class V>
  [[gnu::always_inline]] TENON_DEVICE static V eval_usual(V x) {
    return math::usual_tan(x);
  }
  template <class V>
  [[gnu::always_inline]] TENON_DEVICE static V eval(V x) {
    return math::tan(x);
  }
  static constexpr void derivative(Derivative& d) {
    d.flows_to(0, d.call<Mul>(d.gradient(), d.call<Add>(d.call<Square>(d.result()), d.constant(1))));
  }
};

namespace detail {
// 1 / √(1 - x²), from (1 - x) (1 + x), which keeps its digits near 1.
constexpr int inverse_of_rest(Derivative& d, int x) {
  const int one = d.constant(1);
  return d.call<Rsqrt>(d.call<Mul>(d.call<Sub>(one, x), d.call<Add>(x, one)));
}
}  // namespace detail

/// Inverse of the sine, in radians; NaN beyond 1
///
/// x           any shape; floating-point
/// derivative  dy / √(1 - x²)
/// accuracy    2.4 ulp in float32, for all arguments
/// source      MindSpore's Asin
struct Asin : Elementwise<Asin, "Asin"> {
  static constexpr bool floating_only = true;
  template <class V>
  [[gnu::always_inline]] TENON_DEVICE static V eval(V x) {
    return math::asin(x);
  }
  static constexpr void derivative(Derivative& d) {
    d.flows_to(0, d.call<Mul>(d.gradient(), detail::inverse_of_rest(d, d.operand(0))));
  }
};
/// Inverse of the cosine, in radians; NaN beyond 1
///
/// x           any shape; floating-point
/// derivative  -dy / √(1 - x²)
/// accuracy    1.2 ulp in float32, for all arguments
/// source      MindSpore's ACos
struct Acos : Elementwise<Acos, "Acos"> {
  static constexpr bool floating_only = true;
  template <class V>
  [[gnu::always_inline]] TENON_DEVICE static V eval(V x) {
    return math::acos(x);
  }
  static constexpr void derivative(Derivative& d) {
    d.flows_to(0, d.call<Mul>(d.gradient(), d.call<Neg>(detail::inverse_of_rest(d, d.operand(0)))));
  }
};
/// Inverse of the tangent, in radians
///
/// x           any shape; floating-point
/// derivative  dy / (1 + x²)
/// accuracy    1.3 ulp in float32, for all arguments
/// source      MindSpore's Atan
struct Atan : Elementwise<Atan, "Atan"> {
  static constexpr bool floating_only = true;
  template <class V>
  [[gnu::always_inline]] TENON_DEVICE static V eval(V x) {
    return math::atan(x);
  }
  static constexpr void derivative(Derivative& d) {
    d.flows_to(0, d.call<Div>(d.gradient(), d.call<Add>(d.call<Square>(d.operand(0)), d.constant(1))));
  }
};
/// a / b, and 0 where b = 0. Not for users.
struct RatioOrZero : Elementwise<RatioOrZero, "RatioOrZero"> {
  template <class V>
  static constexpr V eval(V a, V b) {
    return math::either(b == V(0), V(0), a / b);
  }
  static constexpr void derivative(Derivative& d) {
    const int b = d.operand(1), of_gradient = d.call<RatioOrZero>(d.gradient(), b);
    d.flows_to(0, of_gradient);
    d.flows_to(1, d.call<Neg>(d.call<Mul>(d.result(), of_gradient)));
  }
};
/// Angle of the point (x, y) in radians, between -π and π, with broadcasting
///
/// y, x        shapes that broadcast; floating-point, the same dtype for both
/// derivative  dy x / (x² + y²) for y, -dy y / (x² + y²) for x, 0 for both where x = y = 0
/// accuracy    1.5 ulp in float32; zeros and infinities as C's atan2
/// source      MindSpore's Atan2
struct Atan2 : Elementwise<Atan2, "Atan2"> {
  static constexpr bool floating_only = true;
  template <class V>
  [[gnu::always_inline]] TENON_DEVICE static V eval(V y, V x) {
    return math::atan2(y, x);
  }
  static constexpr void derivative(Derivative& d) {
    const int y = d.operand(0), x = d.operand(1), squares = d.call<Add>(d.call<Square>(y), d.call<Square>(x));
    d.flows_to(0, d.call<Mul>(d.gradient(), d.call<RatioOrZero>(x, squares)));
    d.flows_to(1, d.call<Mul>(d.gradient(), d.call<Neg>(d.call<RatioOrZero>(y, squares))));
  }
};
TENON_EXACT_END

/// The sine of x in radians.
constexpr auto sin(const Operand auto& x, std::source_location at = std::source_location::current()) {
  return apply<Sin>(at, x);
}
/// The cosine of x in radians.
constexpr auto cos(const Operand auto& x, std::source_location at = std::source_location::current()) {
  return apply<Cos>(at, x);
}
/// The tangent of x in radians.
constexpr auto tan(const Operand auto& x, std::source_location at = std::source_location::current()) {
  return apply<Tan>(at, x);
}
/// The angle whose sine is x.
constexpr auto asin(const Operand auto& x, std::source_location at = std::source_location::current()) {
  return apply<Asin>(at, x);
}
/// The angle whose cosine is x.
constexpr auto acos(const Operand auto& x, std::source_location at = std::source_location::current()) {
  return apply<Acos>(at, x);
}
/// The angle whose tangent is x.
constexpr auto atan(const Operand auto& x, std::source_location at = std::source_location::current()) {
  return apply<Atan>(at, x);
}
/// The angle of the point (x, y), with broadcasting; one of them may be a number.
constexpr auto atan2(const OperandOrScalar auto& y, const OperandOrScalar auto& x,
                     std::source_location at = std::source_location::current()) {
  return binary<Atan2>(at, y, x);
}

}  // namespace tenon::ops
