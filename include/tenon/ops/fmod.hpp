// Remainders of divisions: fmod, floor_mod.
#pragma once
#include <tenon/core/math/division.hpp>
#include <tenon/core/math/either.hpp>
#include <tenon/ops/div.hpp>
#include <tenon/ops/elementwise_usual.hpp>
#include <tenon/ops/floor_div.hpp>
#include <tenon/ops/mul.hpp>
#include <tenon/ops/neg.hpp>
#include <tenon/ops/rounding.hpp>

namespace tenon::inline TENON_ABI::ops {
TENON_EXACT_BEGIN
/// Element-wise remainder of a division rounded towards zero, with broadcasting:  y = a - b trunc(a / b), exact
///
/// a, b        shapes that broadcast; any dtype but bool, the same for both
/// result      has the sign of a
/// derivative  dy for a, -dy trunc(a / b) for b
/// zero        an integer modulo zero is 0, as an integer divided by zero; NaN in floating-point
/// source      MindSpore's fmod, PyTorch's fmod
struct Fmod : ElementwiseUsual<Fmod, "Fmod"> {
  static constexpr bool numbers_only = true;
  template <class V>
  [[gnu::always_inline]] TENON_DEVICE static bool usual(V a, V b) {
    if constexpr (std::is_integral_v<V>) return true;
    else return math::is_usual_fmod(a, b);
  }
  template <class V>
  [[gnu::always_inline]] TENON_DEVICE static V eval_usual(V a, V b) {
    if constexpr (std::is_integral_v<V>) return math::integer_remainder(a, b);
    else return math::usual_fmod(a, b);
  }
  template <class V>
  [[gnu::always_inline]] TENON_DEVICE static V eval(V a, V b) {
    if constexpr (std::is_integral_v<V>) return math::integer_remainder(a, b);
    else return math::fmod(a, b);
  }
  static constexpr void derivative(Derivative& d) {
    d.flows_to(0, d.gradient());
    d.flows_to(1, d.call<Neg>(d.call<Mul>(d.gradient(), d.call<Trunc>(d.call<Div>(d.operand(0), d.operand(1))))));
  }
};
/// Element-wise remainder of a division rounded down, with broadcasting:  y = a - b floor(a / b)
///
/// a, b        shapes that broadcast; any dtype but bool, the same for both
/// result      has the sign of b
/// derivative  dy for a, -dy floor(a / b) for b
/// zero        an integer modulo zero is 0, as an integer divided by zero; NaN in floating-point
/// source      MindSpore's FloorMod, PyTorch's remainder
struct FloorMod : ElementwiseUsual<FloorMod, "FloorMod"> {
  static constexpr bool numbers_only = true;
  template <class V>
  [[gnu::always_inline]] TENON_DEVICE static bool usual(V a, V b) {
    return Fmod::usual(a, b);
  }
  template <class V>
  [[gnu::always_inline]] TENON_DEVICE static V eval_usual(V a, V b) {
    return with_sign_of(b, Fmod::eval_usual(a, b));
  }
  template <class V>
  [[gnu::always_inline]] TENON_DEVICE static V eval(V a, V b) {
    return with_sign_of(b, Fmod::eval(a, b));
  }
  template <class V>
  [[gnu::always_inline]] TENON_DEVICE static V with_sign_of(V b, V rest) {
    const bool other = (rest != V(0)) & ((rest < V(0)) != (b < V(0)));
    if constexpr (std::is_floating_point_v<V>) return math::either(other, rest + b, rest);
    else return other ? static_cast<V>(rest + b) : rest;
  }
  static constexpr void derivative(Derivative& d) {
    d.flows_to(0, d.gradient());
    d.flows_to(1, d.call<Neg>(d.call<Mul>(d.gradient(), d.call<FloorDiv>(d.operand(0), d.operand(1)))));
  }
};
TENON_EXACT_END

/// a - b trunc(a / b), with broadcasting; one of them may be a number.
constexpr auto fmod(const OperandOrScalar auto& a, const OperandOrScalar auto& b,
                    std::source_location at = std::source_location::current()) {
  return binary<Fmod>(at, a, b);
}
/// a - b floor(a / b), with broadcasting; one of them may be a number.
constexpr auto floor_mod(const OperandOrScalar auto& a, const OperandOrScalar auto& b,
                         std::source_location at = std::source_location::current()) {
  return binary<FloorMod>(at, a, b);
}

}  // namespace tenon::ops
