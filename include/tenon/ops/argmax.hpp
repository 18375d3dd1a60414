// Index of the largest or smallest element along an axis.
#pragma once
#include <tenon/call/apply.hpp>
#include <tenon/ops/elementwise.hpp>

namespace tenon::inline TENON_ABI::ops {
/// Index of the largest (or smallest) element along an axis; of equal ones the first. A NaN counts as largest
/// (smallest). Along the axis of an empty batch the index is 0.
///
/// x           any shape of rank 1 or more; any dtype
/// result      int32; x without the axis, or with it as 1 (keep_dims)
/// source      MindSpore's Argmax and Argmin
struct ArgMax : Operator<ArgMax, "Argmax"> {
  struct Config {
    int axis = -1, keep_dims = 0, smallest = 0;
  };
  static constexpr None derivative{};
  static constexpr bool gives_places = true;
  static constexpr TensorType shape(const OperandTypes& in, const Config& c, Sentence& error) {
    const TensorType& x = in[0];
    const int along = normalized_axis(c.axis, x.rank);
    TensorType y{{}, 0, Dtype::int32};
    if (along < 0)
      error << (c.smallest ? "Argmin" : "Argmax") << " got the axis " << c.axis << " for " << x << " of rank "
            << x.rank;
    for (int axis = 0; axis < x.rank; ++axis)
      if (axis != along) y.extent[y.rank++] = x[axis];
      else if (c.keep_dims) y.extent[y.rank++] = 1;
    return y;
  }
};

/// Index of the largest element along an axis, the last one by default: `argmax(logits)`, `argmax<0>(x)`.
template <int axis = -1, bool keep_dims = false>
constexpr auto argmax(const Operand auto& x, std::source_location at = std::source_location::current()) {
  return apply<ArgMax, ArgMax::Config{axis, keep_dims, 0}>(at, x);
}
/// Index of the smallest element along an axis.
template <int axis = -1, bool keep_dims = false>
constexpr auto argmin(const Operand auto& x, std::source_location at = std::source_location::current()) {
  return apply<ArgMax, ArgMax::Config{axis, keep_dims, 1}>(at, x);
}

}  // namespace tenon::ops
