// Tensors of one number with the shape of another tensor, and tensors of consecutive numbers: zeros_like, ones_like,
// full_like, arange.
#pragma once
#include <tenon/call/apply.hpp>

namespace tenon::inline TENON_ABI::ops {
/// A tensor of one value with shape and dtype of x, whose elements do not matter.
///
/// x           any shape and dtype
/// derivative  no gradient flows
/// source      MindSpore's zeros_like, ones_like, full_like
struct FullLike : Operator<FullLike, "FullLike"> {
  static constexpr TensorType shape(const OperandTypes& in, const NoConfig&, Sentence&) { return in[0]; }
  static constexpr void derivative(Derivative& d) { d.no_gradient(); }
};

/// The numbers start, start + step, ... in a fixed count. The operand only determines the mode.
///
/// x           any dtype
/// result      [count] of the wanted dtype
/// derivative  no gradient flows
/// source      MindSpore's arange
struct Arange : Operator<Arange, "Range"> {
  struct Config {
    int count = 0, start = 0, step = 1;
    Dtype dtype = Dtype::int32;
  };
  static constexpr TensorType shape(const OperandTypes&, const Config& c, Sentence& error) {
    if (c.count < 1) error << "arange got the count " << c.count << ", it needs 1 or more";
    return {{c.count}, 1, c.dtype};
  }
  static constexpr void derivative(Derivative& d) { d.no_gradient(); }
};

/// `value` in every element; shape and dtype of x. Throws ValueError for a whole number outside of the range of an
/// integer dtype.
constexpr auto full_like(const Operand auto& x, Scalar auto value,
                         std::source_location at = std::source_location::current()) {
  return apply_with<FullLike>(at, tenon::detail::immediate_number(x, value), x);
}
/// 0 in every element; shape and dtype of x.
constexpr auto zeros_like(const Operand auto& x, std::source_location at = std::source_location::current()) {
  return full_like(x, 0, at);
}
/// 1 in every element; shape and dtype of x.
constexpr auto ones_like(const Operand auto& x, std::source_location at = std::source_location::current()) {
  return full_like(x, 1, at);
}

/// 0, 1, ..., count - 1 as [count], for use with x: `add(h, gather(positions, arange<64>(h)))`. The dtype is int32
/// unless T is given.
template <int count, Element T = std::int32_t, int start = 0, int step = 1>
constexpr auto arange(const Operand auto& x, std::source_location at = std::source_location::current()) {
  return apply<Arange, Arange::Config{count, start, step, dtype_of<T>}>(at, x);
}

}  // namespace tenon::ops
