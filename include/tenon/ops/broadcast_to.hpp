// Repeats a tensor along axes.
#pragma once
#include <tenon/ops/elementwise.hpp>
#include <tenon/ops/refused.hpp>

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

namespace detail {
/// A shape with dyn for an operand without a batch size: how often it is repeated, no operand says.
template <class S>
struct RepeatRule {
  static constexpr FixedString name = "broadcast_to";
  static constexpr bool holds(const TensorType& x) { return x.batched() || !S::dims.batched(); }
  static constexpr void write(Sentence& error, const TensorType& x) {
    error << "broadcast_to of " << x << " to " << S::dims << " does not know n: broadcast_to<S>(x, batch) of "
          << "<tenon/more.hpp> takes it from a second operand";
  }
};
}  // namespace detail

/// Repeats x to Shape S: `broadcast_to<Shape<3, 4>>(x)`. The other form takes the batch size from a second operand:
/// ops/broadcast_batch.hpp.
template <class S>
constexpr auto broadcast_to(const Operand auto& x, std::source_location at = std::source_location::current()) {
  return where_fits<detail::RepeatRule<S>>(
      at, x, [&](const auto& v) { return apply<BroadcastTo, SumTo::to(S::dims)>(at, v); });
}

}  // namespace tenon::ops
