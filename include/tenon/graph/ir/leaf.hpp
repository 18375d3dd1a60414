// The nodes that have no operands: values that the executor finds instead of computing them.
#pragma once
#include <bit>

#include <tenon/graph/ir/node.hpp>

namespace tenon::inline TENON_ABI::ops {

/// Base of leaves: their type is given where they are added, no kernel runs, no gradient passes through.
template <class Op, FixedString Name>
struct Leaf : Operator<Op, Name> {
  static constexpr bool leaf = true;
  static constexpr None derivative{};
  static constexpr TensorType shape(const OperandTypes&, const NoConfig&, Sentence&) { return {}; }
  template <class Call>
  static constexpr long items(long) {
    return 0;
  }
};

/// Column `immediate` of the batch, or argument `immediate` of a compiled function.
struct Input : Leaf<Input, "Input"> {};
/// Parameter of entry `immediate` in the cell's structure.
struct ParameterLeaf : Leaf<ParameterLeaf, "Parameter"> {};
/// State of a training step at byte `immediate`: moments, learning rates, the step number.
struct StateLeaf : Leaf<StateLeaf, "State"> {};
/// A number written in the source; `immediate` holds its bytes in its dtype, low byte first.
struct Constant : Leaf<Constant, "Constant"> {};

}  // namespace tenon::ops

namespace tenon::inline TENON_ABI {

/// The bytes of a constant in its dtype, low byte first, as a kernel reads them.
constexpr std::uint64_t constant_bytes(Dtype dtype, double value) {
  switch (dtype) {
    case Dtype::float64: return std::bit_cast<std::uint64_t>(value);
    case Dtype::float32: return std::bit_cast<std::uint32_t>(static_cast<float>(value));
    case Dtype::float16: return float16(static_cast<float>(value)).bits;
    case Dtype::bfloat16: return bfloat16(static_cast<float>(value)).bits;
    case Dtype::bool_: return value != 0;
    case Dtype::uint64: return static_cast<std::uint64_t>(value);
    default: return static_cast<std::uint64_t>(static_cast<std::int64_t>(value));
  }
}
/// The same of a number of any type: whole numbers keep all the digits that T has.
template <Element T, class N>
constexpr std::uint64_t number_bytes(N value) {
  if constexpr (!std::is_integral_v<N>) return constant_bytes(dtype_of<T>, static_cast<double>(value));
  else if constexpr (std::is_same_v<T, bool>) return value != N(0);
  else if constexpr (std::is_integral_v<T>) return static_cast<std::uint64_t>(value);
  else if constexpr (std::is_same_v<T, double>) return std::bit_cast<std::uint64_t>(static_cast<double>(value));
  else return constant_bytes(dtype_of<T>, static_cast<double>(static_cast<float>(value)));
}

/// A rank-0 constant node of the given dtype.
constexpr Node constant_node(Dtype dtype, double value) {
  Node node;
  node.op = &info<ops::Constant>;
  node.type.dtype = dtype;
  node.immediate = constant_bytes(dtype, value);
  return node;
}
/// The value of a constant; of a 64-bit integer beyond 2^53 the nearest double.
constexpr double constant_value(const Node& node) {
  const std::uint64_t bytes = node.immediate;
  switch (node.type.dtype) {
    case Dtype::float64: return std::bit_cast<double>(bytes);
    case Dtype::float32: return static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(bytes)));
    case Dtype::float16: return static_cast<float>(std::bit_cast<float16>(static_cast<std::uint16_t>(bytes)));
    case Dtype::bfloat16: return static_cast<float>(std::bit_cast<bfloat16>(static_cast<std::uint16_t>(bytes)));
    case Dtype::uint64: return static_cast<double>(bytes);
    default: return static_cast<double>(static_cast<std::int64_t>(bytes));
  }
}

}  // namespace tenon
