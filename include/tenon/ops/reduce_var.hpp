// Variance and standard deviation over axes.
#pragma once
#include <tenon/ops/div.hpp>
#include <tenon/ops/full_like.hpp>
#include <tenon/ops/full_precision.hpp>
#include <tenon/ops/maximum.hpp>
#include <tenon/ops/mul.hpp>
#include <tenon/ops/reduce_mean.hpp>
#include <tenon/ops/reduce_sum.hpp>
#include <tenon/ops/safe_sqrt.hpp>
#include <tenon/ops/slice.hpp>
#include <tenon/ops/square.hpp>
#include <tenon/ops/sub.hpp>

namespace tenon::inline TENON_ABI {

/// ddof is subtracted from the number of elements: 1 for the unbiased variance, 0 for the mean square deviation.
struct VarOptions {
  int ddof = 1;
};

namespace ops {

namespace detail {
/// The number of elements that are reduced, without a leading extent that depends on n.
constexpr long fixed_count(const TensorType& x, const ReduceAxes& axes) {
  long count = 1;
  for (int axis = 0; axis < x.rank; ++axis)
    if ((axes.mask >> axis & 1) && x.extent[axis] >= 0) count *= x.extent[axis];
  return count;
}
/// sum / (count - ddof) of a sum over `axes` of x. A count that depends on n is the sum of n ones.
template <ReduceAxes axes, class Sum, class X>
constexpr auto unbiased(const Sum& sum, const X& x, int ddof, const std::source_location& at) {
  if constexpr (is_broken<Sum> || is_broken<X>) return sum;
  else {
    constexpr long fixed = fixed_count(X::dims, axes);
    constexpr bool dynamic = X::dims.batched() && (axes.mask & 1);
    if constexpr (dynamic) {
      const auto ones = ones_like(slice<Part{}, Part{0, 1}>(flatten(x, at), at), at);
      return div(sum, maximum(sub(mul(reduce_sum(ones, at), fixed, at), ddof, at), 0, at), at);
    } else return div(sum, fixed > ddof ? fixed - ddof : 0, at);
  }
}
template <bool keep_dims, int... Axes, class X>
constexpr auto variance(const X& x, int ddof, const std::source_location& at) {
  constexpr ReduceAxes axes = axes_of<X, keep_dims, Axes...>;
  const auto centered = sub(x, reduce_mean_keep<Axes...>(x, at), at);
  return unbiased<axes>(apply<ReduceSum, axes>(at, square(centered, at)), x, ddof, at);
}
}  // namespace detail

/// Variance over Axes (all of them if none is given): `reduce_var<1>(x)`, or `reduce_var<1>(x, {.ddof = 0})`.
///
/// x           any shape; floating-point (16-bit floats are computed in float32)
/// result      x without the reduced axes: sum of (x - mean)² / (count - ddof); NaN if the count is not above ddof
/// derivative  2 (x - mean) dy / (count - ddof)
/// source      MindSpore's ReduceStd, whose default is unbiased, and PyTorch's var; MindSpore's ops.var has ddof = 0
template <int... Axes, Operand X>
constexpr auto reduce_var(const X& x, VarOptions options = {},
                          std::source_location at = std::source_location::current()) {
  return detail::in_full_precision(
      x, at, [&](const auto& v) { return detail::variance<false, Axes...>(v, options.ddof, at); });
}
/// The same, reduced axes stay with extent 1.
template <int... Axes, Operand X>
constexpr auto reduce_var_keep(const X& x, VarOptions options = {},
                               std::source_location at = std::source_location::current()) {
  return detail::in_full_precision(x, at,
                                   [&](const auto& v) { return detail::variance<true, Axes...>(v, options.ddof, at); });
}
/// Standard deviation over Axes: the root of reduce_var. Its derivative is 0 where all elements are equal.
template <int... Axes, Operand X>
constexpr auto reduce_std(const X& x, VarOptions options = {},
                          std::source_location at = std::source_location::current()) {
  return detail::in_full_precision(
      x, at, [&](const auto& v) { return apply<SafeSqrt>(at, detail::variance<false, Axes...>(v, options.ddof, at)); });
}
/// The same, reduced axes stay with extent 1.
template <int... Axes, Operand X>
constexpr auto reduce_std_keep(const X& x, VarOptions options = {},
                               std::source_location at = std::source_location::current()) {
  return detail::in_full_precision(
      x, at, [&](const auto& v) { return apply<SafeSqrt>(at, detail::variance<true, Axes...>(v, options.ddof, at)); });
}

}  // namespace ops
}  // namespace tenon
