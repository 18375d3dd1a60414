// Rounding to whole numbers, and the sign: floor, ceil, round, trunc, sign.
#pragma once
#include <tenon/core/math/rounding.hpp>
#include <tenon/ops/elementwise.hpp>

namespace tenon::inline TENON_ABI::ops {
TENON_EXACT_BEGIN
/// Element-wise next whole number below
///
/// x           any shape; floating-point
/// derivative  zero almost everywhere, so none flows
/// source      MindSpore's Floor, PyTorch's floor
struct Floor : Elementwise<Floor, "Floor"> {
  static constexpr bool floating_only = true;
  template <class V>
  TENON_DEVICE static V eval(V x) {
    return math::round_down(x);
  }
  static constexpr void derivative(Derivative& d) { d.no_gradient(); }
};
/// Element-wise next whole number above
///
/// x           any shape; floating-point
/// derivative  zero almost everywhere, so none flows
/// source      MindSpore's Ceil, PyTorch's ceil
struct Ceil : Elementwise<Ceil, "Ceil"> {
  static constexpr bool floating_only = true;
  template <class V>
  TENON_DEVICE static V eval(V x) {
    return math::round_up(x);
  }
  static constexpr void derivative(Derivative& d) { d.no_gradient(); }
};
/// Element-wise nearest whole number, of two the even one:  2.5 becomes 2
///
/// x           any shape; floating-point
/// derivative  zero almost everywhere, so none flows
/// source      MindSpore's Round, PyTorch's round
struct Round : Elementwise<Round, "Round"> {
  static constexpr bool floating_only = true;
  template <class V>
  TENON_DEVICE static V eval(V x) {
    return math::round(x);
  }
  static constexpr void derivative(Derivative& d) { d.no_gradient(); }
};
/// Element-wise next whole number towards zero
///
/// x           any shape; floating-point
/// derivative  zero almost everywhere, so none flows
/// source      MindSpore's Trunc, PyTorch's trunc
struct Trunc : Elementwise<Trunc, "Trunc"> {
  static constexpr bool floating_only = true;
  template <class V>
  TENON_DEVICE static V eval(V x) {
    return math::trunc(x);
  }
  static constexpr void derivative(Derivative& d) { d.no_gradient(); }
};
/// Element-wise sign:  y = 1, 0, or -1; 0 for zeros of either sign and for NaN
///
/// x           any shape; any dtype but bool
/// derivative  zero almost everywhere, so none flows
/// source      MindSpore's Sign, PyTorch's sign
struct Sign : Elementwise<Sign, "Sign"> {
  static constexpr bool numbers_only = true;
  template <class V>
  static constexpr V eval(V x) {
    if constexpr (std::is_unsigned_v<V>) return x > V(0) ? V(1) : V(0);
    else return x > V(0) ? V(1) : x < V(0) ? V(-1) : V(0);
  }
  static constexpr void derivative(Derivative& d) { d.no_gradient(); }
};
TENON_EXACT_END

/// The next whole number below.
constexpr auto floor(const Operand auto& x, std::source_location at = std::source_location::current()) {
  return apply<Floor>(at, x);
}
/// The next whole number above.
constexpr auto ceil(const Operand auto& x, std::source_location at = std::source_location::current()) {
  return apply<Ceil>(at, x);
}
/// The nearest whole number, of two the even one.
constexpr auto round(const Operand auto& x, std::source_location at = std::source_location::current()) {
  return apply<Round>(at, x);
}
/// The next whole number towards zero.
constexpr auto trunc(const Operand auto& x, std::source_location at = std::source_location::current()) {
  return apply<Trunc>(at, x);
}
/// 1, 0, or -1.
constexpr auto sign(const Operand auto& x, std::source_location at = std::source_location::current()) {
  return apply<Sign>(at, x);
}

}  // namespace tenon::ops
