// Quotient of two tensors.
#pragma once
#include <tenon/ops/mul.hpp>
#include <tenon/ops/neg.hpp>

namespace tenon::inline TENON_ABI::ops {
TENON_EXACT_BEGIN
/// Element-wise quotient with broadcasting:  y = a / b
///
/// a, b        shapes that broadcast; floating-point, the same dtype for both
/// derivative  dy / b and -(dy / b) y, summed over broadcast axes
/// source      MindSpore's Div
struct Div : Elementwise<Div, "Div"> {
  static constexpr bool floating_only = true, zero_divisor = true;
  template <class V>
  static constexpr V eval(V a, V b) {
    return a / b;
  }
  static constexpr double fold(Dtype d, double a, double b) { return folded<Div, 2>(d, a, b); }
  static constexpr void derivative(Derivative& d) {
    const int share = d.call<Div>(d.gradient(), d.operand(1));
    d.flows_to(0, share);
    d.flows_to(1, d.call<Neg>(d.call<Mul>(share, d.result())));
  }
};
TENON_EXACT_END

namespace detail {
// Integers and bool as float32; all else as it is.
template <class X>
constexpr decltype(auto) dividable(const std::source_location& at, const X& x) {
  if constexpr (Scalar<X> || is_broken<X>) return (x);
  else if constexpr (!is_floating(X::dims.dtype)) return cast_to<float>(at, x);
  else return (x);
}
}  // namespace detail

/// a / b with broadcasting; one of them may be a number. Integers are divided as float32, as `/` does in Python;
/// floor_div stays in integers.
constexpr auto div(const OperandOrScalar auto& a, const OperandOrScalar auto& b,
                   std::source_location at = std::source_location::current()) {
  return binary<Div>(at, detail::dividable(at, a), detail::dividable(at, b));
}

}  // namespace tenon::ops
