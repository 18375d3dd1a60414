// Tensors of one number with a given shape: zeros, ones, full.
#pragma once
#include <tenon/ops/full_like.hpp>

namespace tenon::inline TENON_ABI::ops {

/// A tensor of one value. The operand determines the mode, the batch size, and the dtype.
///
/// x           any dtype
/// derivative  no gradient flows
/// source      MindSpore's and PyTorch's zeros, ones, full
struct Full : Operator<Full, "Full"> {
  struct Config {
    int rank = 0, extent[max_rank]{};
  };
  static constexpr Config of(const TensorType& t) {
    Config c{t.rank, {}};
    for (int axis = 0; axis < t.rank; ++axis) c.extent[axis] = t.extent[axis];
    return c;
  }
  static constexpr TensorType shape(const OperandTypes& in, const Config& c, Sentence& error) {
    TensorType t{{}, c.rank, in[0].dtype};
    for (int axis = 0; axis < c.rank; ++axis) t.extent[axis] = c.extent[axis];
    if (t.batched() && !in[0].batched())
      error << "full of " << t << " needs an operand that has a batch size, got " << in[0];
    return t;
  }
  static constexpr void derivative(Derivative& d) { d.no_gradient(); }
};

/// `value` in every element of a tensor of shape S with the dtype of x, and its batch size where S has dyn:
/// `full<Shape<dyn, 64>>(x, 0.5)`. Throws ValueError for a whole number outside of the range of an integer dtype.
template <class S>
constexpr auto full(const Operand auto& x, Scalar auto value,
                    std::source_location at = std::source_location::current()) {
  return apply_with<Full, Full::of(S::dims)>(at, tenon::detail::immediate_number(x, value), x);
}
/// 0 in every element, of shape S, with the dtype and batch size of x: `zeros<Shape<dyn, 64>>(x)`.
template <class S>
constexpr auto zeros(const Operand auto& x, std::source_location at = std::source_location::current()) {
  return full<S>(x, 0, at);
}
/// 1 in every element, of shape S, with the dtype and batch size of x: `ones<Shape<dyn, 64>>(x)`.
template <class S>
constexpr auto ones(const Operand auto& x, std::source_location at = std::source_location::current()) {
  return full<S>(x, 1, at);
}

}  // namespace tenon::ops
