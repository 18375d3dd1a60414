// Mean over axes.
#pragma once
#include <tenon/ops/reduction.hpp>

namespace tenon::inline TENON_ABI::ops {
TENON_EXACT_BEGIN
/// Repeats dy along the axes of a mean and divides by their number of elements, which may depend on n. Not for users.
struct ReduceMeanGrad : Operator<ReduceMeanGrad, "ReduceMeanGrad"> {
  using Config = SumTo::Config;
  static constexpr TensorType shape(const OperandTypes& in, const Config& wanted, Sentence& error) {
    return BroadcastTo::shape(in, wanted, error);
  }
  static constexpr void derivative(Derivative& d);
};

/// Mean over axes.
///
/// x           any shape; floating-point. Integers are an error, because their mean is seldom an integer: cast first
/// result      x without the reduced axes, or with them as 1 (keep_dims)
/// derivative  dy / count repeated along the reduced axes
/// source      MindSpore's ReduceMean
struct ReduceMean : Reduction<ReduceMean, "ReduceMean"> {
  static constexpr TensorType shape(const OperandTypes& in, const Config& axes, Sentence& error) {
    if (is_floating(in[0].dtype)) return Reduction::shape(in, axes, error);
    error << "ReduceMean needs floating-point operands, got " << tenon::name(in[0].dtype) << " " << in[0]
          << ": cast it";
    return in[0];
  }
  static constexpr long divisor(long count) { return count; }
  static constexpr void derivative(Derivative& d) {
    const TensorType x = d.type(0), kept = ReduceMean::kept(x, d.config<ReduceMean>());
    const int g = d.call_with<Reshape>(Reshape::to(kept), d.gradient());
    d.flows_to(0, d.call_with<ReduceMeanGrad>(SumTo::to(x), g));
  }
};
TENON_EXACT_END

constexpr void ReduceMeanGrad::derivative(Derivative& d) {
  const TensorType to = d.type(0), from = d.result_type();
  ReduceAxes axes{0, 1, 0};
  for (int axis = 0; axis < from.rank; ++axis)
    if (to.extent[axis] != from.extent[axis]) axes.mask |= 1 << axis;
  d.flows_to(0, d.call_with<ReduceMean>(axes, d.gradient()));
}

/// Mean over Axes (all of them if none is given).
template <int... Axes, Operand X>
constexpr auto reduce_mean(const X& x, std::source_location at = std::source_location::current()) {
  return apply<ReduceMean, axes_of<X, false, Axes...>>(at, x);
}
/// The same, reduced axes stay with extent 1.
template <int... Axes, Operand X>
constexpr auto reduce_mean_keep(const X& x, std::source_location at = std::source_location::current()) {
  return apply<ReduceMean, axes_of<X, true, Axes...>>(at, x);
}

}  // namespace tenon::ops
