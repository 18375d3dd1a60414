// Sum over axes.
#pragma once
#include <tenon/ops/reduction.hpp>

namespace tenon::inline TENON_ABI::ops {
TENON_EXACT_BEGIN
/// Sum over axes.
///
/// x           any shape; any dtype. Integers are summed in their own type and wrap around: 200 + 100 is 44 in uint8,
///             so cast narrow ones first. The sum of bool is int64, the number of true elements, as in PyTorch
/// result      x without the reduced axes, or with them as 1 (keep_dims)
/// derivative  dy repeated along the reduced axes
/// source      MindSpore's ReduceSum
struct ReduceSum : Reduction<ReduceSum, "ReduceSum"> {
  static constexpr long divisor(long) { return 1; }
  static constexpr void derivative(Derivative& d) {
    const TensorType x = d.type(0), kept = ReduceSum::kept(x, d.config<ReduceSum>());
    const int g = d.call_with<Reshape>(Reshape::to(kept), d.gradient());
    d.flows_to(0, d.call_with<BroadcastTo>(SumTo::to(x), g));
  }
};
TENON_EXACT_END

/// Sum over Axes (all of them if none is given): `reduce_sum<1>(x)`, `reduce_sum<0, 2>(x)`.
template <int... Axes, Operand X>
constexpr auto reduce_sum(const X& x, std::source_location at = std::source_location::current()) {
  return apply<ReduceSum, axes_of<X, false, Axes...>>(at, detail::countable(at, x));
}
/// The same, reduced axes stay with extent 1.
template <int... Axes, Operand X>
constexpr auto reduce_sum_keep(const X& x, std::source_location at = std::source_location::current()) {
  return apply<ReduceSum, axes_of<X, true, Axes...>>(at, detail::countable(at, x));
}

}  // namespace tenon::ops
