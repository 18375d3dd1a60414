// Repeats a tensor along axes.
#pragma once
#include <tenon/ops/elementwise.hpp>

namespace tenon::inline TENON_ABI::ops {
TENON_EXACT_BEGIN
/// Repeats x along axes of extent 1, and along new leading axes, to a wanted shape.
///
/// x           any dtype; its shape broadcasts to the wanted one
/// derivative  dy summed over the repeated axes
/// source      MindSpore's BroadcastTo, PyTorch's expand
struct BroadcastTo : Operator<BroadcastTo, "BroadcastTo"> {
  using Config = SumTo::Config;
  static constexpr TensorType shape(const OperandTypes& in, const Config& wanted, Sentence& error) {
    TensorType t = in[0];
    t.rank = wanted.rank;
    for (int axis = 0; axis < max_rank; ++axis) t.extent[axis] = axis < wanted.rank ? wanted.extent[axis] : 0;
    TensorType wider;
    if (!broadcast(t, in[0], wider) || !wider.same_shape(t))
      error << "BroadcastTo got " << in[0] << ", which does not broadcast to " << t;
    return t;
  }
  // flows_to sums it to the operand's shape
  static constexpr void derivative(Derivative& d) { d.flows_to(0, d.gradient()); }
};
TENON_EXACT_END

constexpr void SumTo::derivative(Derivative& d) {
  d.flows_to(0, d.call_with<BroadcastTo>(to(d.type(0)), d.gradient()));
}

/// Repeats x to Shape S: `broadcast_to<Shape<3, 4>>(x)`.
template <class S>
constexpr auto broadcast_to(const Operand auto& x, std::source_location at = std::source_location::current()) {
  return apply<BroadcastTo, SumTo::to(S::dims)>(at, x);
}

}  // namespace tenon::ops
