// Norms over axes: the Euclidean norm, the sum of absolute values, the largest absolute value.
#pragma once
#include <tenon/ops/abs.hpp>
#include <tenon/ops/reduce_max.hpp>
#include <tenon/ops/reduce_sum.hpp>
#include <tenon/ops/reduce_sum_square.hpp>
#include <tenon/ops/safe_sqrt.hpp>

namespace tenon::inline TENON_ABI::ops {

/// Euclidean norm over Axes (all of them if none is given): `norm<1>(x)` is √(sum of x²).
///
/// x           any shape; floating-point
/// result      x without the reduced axes
/// derivative  dy x / norm, 0 where the norm is 0
/// source      MindSpore's norm, PyTorch's linalg.vector_norm with ord = 2
template <int... Axes, Operand X>
constexpr auto norm(const X& x, std::source_location at = std::source_location::current()) {
  return apply<SafeSqrt>(at, reduce_sum_square<Axes...>(x, at));
}
/// The same, reduced axes stay with extent 1.
template <int... Axes, Operand X>
constexpr auto norm_keep(const X& x, std::source_location at = std::source_location::current()) {
  return apply<SafeSqrt>(at, reduce_sum_square_keep<Axes...>(x, at));
}
/// The sum of absolute values over Axes, the norm with ord = 1. The derivative is dy sign(x).
template <int... Axes, Operand X>
constexpr auto l1_norm(const X& x, std::source_location at = std::source_location::current()) {
  return reduce_sum<Axes...>(abs(x, at), at);
}
/// The same, reduced axes stay with extent 1.
template <int... Axes, Operand X>
constexpr auto l1_norm_keep(const X& x, std::source_location at = std::source_location::current()) {
  return reduce_sum_keep<Axes...>(abs(x, at), at);
}
/// The largest absolute value over Axes, the norm with ord = inf. The largest elements share the gradient.
template <int... Axes, Operand X>
constexpr auto max_norm(const X& x, std::source_location at = std::source_location::current()) {
  return reduce_max<Axes...>(abs(x, at), at);
}
/// The same, reduced axes stay with extent 1.
template <int... Axes, Operand X>
constexpr auto max_norm_keep(const X& x, std::source_location at = std::source_location::current()) {
  return reduce_max_keep<Axes...>(abs(x, at), at);
}

}  // namespace tenon::ops
