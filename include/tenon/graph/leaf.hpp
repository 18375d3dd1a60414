// The nodes that have no operands: values that the executor finds instead of computing them.
#pragma once
#include <bit>

#include <tenon/graph/node.hpp>

namespace tenon::inline TENON_ABI::ops {

/// Base of leaves: their type is given by whoever adds them, no kernel runs, no gradient passes through.
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
/// A number written in the source; `immediate` holds the bits of its double value.
struct Constant : Leaf<Constant, "Constant"> {};

}  // namespace tenon::ops

namespace tenon::inline TENON_ABI {

/// A rank-0 constant node of the given dtype.
constexpr Node constant_node(Dtype dtype, double value) {
  Node node;
  node.op = &info<ops::Constant>;
  node.type.dtype = dtype;
  node.immediate = std::bit_cast<std::uint64_t>(value);
  return node;
}
constexpr double constant_value(const Node& node) { return std::bit_cast<double>(node.immediate); }

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

}  // namespace tenon
