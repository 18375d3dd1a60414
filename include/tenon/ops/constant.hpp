// Constant tensors, the identity, and stop_gradient.
#pragma once
#include <tenon/ops/elementwise.hpp>

namespace tenon::inline TENON_ABI::ops {
TENON_EXACT_BEGIN
/// Base of operators whose result is a copy: bytes, so that also a NaN of 16 bits stays as it is.
template <class Op, FixedString Name>
struct Copy : Elementwise<Op, Name> {
  static constexpr bool copies = true;
  template <class V>
  static constexpr V eval(V x) {
    return x;
  }
};
/// x itself, through which no gradient flows. MindSpore's stop_gradient.
struct StopGradient : Copy<StopGradient, "StopGradient"> {
  static constexpr bool stops_gradient = true;  // a tape does not record it
  static constexpr void derivative(Derivative& d) { d.no_gradient(); }
};
/// x itself; a copy in PyNative mode, nothing in a graph.
struct Identity : Copy<Identity, "Identity"> {
  static constexpr void derivative(Derivative& d) { d.flows_to(0, d.gradient()); }
};
TENON_EXACT_END

/// Numbers from the source code: `Values::values`, an array or a std::array, as a tensor of the shape `Values::shape`.
/// The operand only determines the mode.
template <class Values>
struct ConstantTable : Operator<ConstantTable<Values>, "ConstantTable"> {
  using Element = std::remove_cvref_t<decltype(Values::values[0])>;
  static constexpr TensorType type = type_of<Element, typename Values::shape>;
  static_assert(!type.batched() && type.bytes(1) == long(sizeof(Values::values)),
                "constant<Values>(x): Values::values has as many elements as Values::shape, in row-major order");
  static constexpr TensorType shape(const OperandTypes&, const NoConfig&, Sentence&) { return type; }
  static constexpr void derivative(Derivative& d) { d.no_gradient(); }
};

/// A tensor of numbers known at compile time, for use with x: in a graph a constant, not a parameter.
///
///     struct Sharpen {
///       using shape = Shape<1, 1, 3, 3>;
///       static constexpr float values[]{0, -1, 0, -1, 5, -1, 0, -1, 0};
///     };
///     auto y = conv2d(x, constant<Sharpen>(x));
///
/// derivative  no gradient flows
template <class Values>
constexpr auto constant(const Operand auto& x, std::source_location at = std::source_location::current()) {
  return apply<ConstantTable<Values>>(at, x);
}

/// x, through which no gradient flows; any shape and dtype. PyTorch's detach.
constexpr auto stop_gradient(const Operand auto& x, std::source_location at = std::source_location::current()) {
  return apply<StopGradient>(at, x);
}
/// x itself, of any shape and dtype; its gradient is the gradient from above.
constexpr auto identity(const Operand auto& x, std::source_location at = std::source_location::current()) {
  return apply<Identity>(at, x);
}

}  // namespace tenon::ops
