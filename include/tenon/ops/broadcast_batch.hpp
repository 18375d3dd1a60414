// The same tensor for each sample of a batch: broadcast_to with a second operand.
#pragma once
#include <tenon/ops/compare.hpp>
#include <tenon/ops/full.hpp>
#include <tenon/ops/refused.hpp>
#include <tenon/ops/select.hpp>

namespace tenon::inline TENON_ABI::ops {

namespace detail {
/// What x [1, 1, 3] is combined with to become [n, 2, 3]: [n, 2, 1].
constexpr TensorType repeats(const TensorType& x, TensorType wanted) {
  for (int axis = 1; axis < wanted.rank; ++axis) {
    const int own = axis - (wanted.rank - x.rank);
    if (own >= 0 && x[own] == wanted[axis]) wanted.extent[axis] = 1;
  }
  return wanted;
}
template <class S, class X>
struct BatchRule {
  static constexpr FixedString name = "broadcast_to";
  static constexpr bool holds(const TensorType& batch) {
    TensorType wider;
    return batch.batched() && S::dims.batched() && broadcast(S::dims, X::dims, wider) && wider.same_shape(S::dims);
  }
  static constexpr void write(Sentence& error, const TensorType& batch) {
    if (!S::dims.batched()) error << "broadcast_to of " << X::dims << " to " << S::dims << " needs no second operand";
    else if (!batch.batched())
      error << "broadcast_to of " << X::dims << " to " << S::dims << " needs a second operand with a batch size, got "
            << batch;
    else error << "broadcast_to got " << X::dims << ", which does not broadcast to " << S::dims;
  }
};
}  // namespace detail

/// Repeats x for each sample of `batch`, whose elements do not matter: `broadcast_to<Shape<dyn, 1, 64>>(class_token,
/// patches)`.
///
/// S           [n, ...] or [k * n, ...]
/// x           a value or a parameter of any dtype, whose shape broadcasts to S
/// batch       any dtype, with the batch size n
/// derivative  to x: dy summed over the repeated axes; none to batch
/// source      PyTorch's expand, where n is read from a tensor: `x.expand(batch.shape[0], -1, -1)`
template <class S, Operand X, Operand Batch>
constexpr auto broadcast_to(const X& x, const Batch& batch, std::source_location at = std::source_location::current()) {
  if constexpr (is_broken<X>) return x;
  else
    return where_fits<detail::BatchRule<S, X>>(at, batch, [&](const auto& like) {
      const auto zero = apply<Full, Full::of(detail::repeats(X::dims, S::dims))>(at, like);
      return select(apply<Equal>(at, zero, zero), x, typename X::type{}, at);
    });
}

}  // namespace tenon::ops
