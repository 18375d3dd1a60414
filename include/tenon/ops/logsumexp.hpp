// Logarithm of the sum of exponentials over axes.
#pragma once
#include <tenon/ops/add.hpp>
#include <tenon/ops/compare.hpp>
#include <tenon/ops/constant.hpp>
#include <tenon/ops/exp.hpp>
#include <tenon/ops/log.hpp>
#include <tenon/ops/reduce_max.hpp>
#include <tenon/ops/reduce_sum.hpp>
#include <tenon/ops/select.hpp>
#include <tenon/ops/sub.hpp>

namespace tenon::inline TENON_ABI::ops {

namespace detail {
template <bool keep_dims, int... Axes, class X>
constexpr auto logsumexp(const X& x, const std::source_location& at) {
  if constexpr (is_broken<X>) return x;
  else {
    // The result does not depend on the offset, hence no gradient flows through it. An infinite maximum is no offset:
    // inf - inf is NaN.
    const auto largest = stop_gradient(reduce_max_keep<Axes...>(x, at), at);
    const auto offset = select(equal(sub(largest, largest, at), 0, at), largest, 0, at);
    const auto sum = apply<ReduceSum, axes_of<X, keep_dims, Axes...>>(at, exp(sub(x, offset, at), at));
    if constexpr (keep_dims || is_broken<decltype(sum)>) return add(log(sum, at), offset, at);
    else return add(log(sum, at), reshape<typename decltype(sum)::shape_type>(offset, at), at);
  }
}
}  // namespace detail

/// Logarithm of the sum of exponentials over Axes (all of them if none is given), without overflow:
/// `logsumexp<1>(x)` is max + log(sum of exp(x - max)).
///
/// x           any shape; floating-point
/// result      x without the reduced axes
/// derivative  dy softmax(x)
/// source      MindSpore's ReduceLogSumExp, PyTorch's logsumexp
template <int... Axes, Operand X>
constexpr auto logsumexp(const X& x, std::source_location at = std::source_location::current()) {
  return detail::logsumexp<false, Axes...>(x, at);
}
/// The same, reduced axes stay with extent 1.
template <int... Axes, Operand X>
constexpr auto logsumexp_keep(const X& x, std::source_location at = std::source_location::current()) {
  return detail::logsumexp<true, Axes...>(x, at);
}

}  // namespace tenon::ops
