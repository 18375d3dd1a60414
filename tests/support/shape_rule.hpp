// What a shape rule says about operands that do not fit, and the type it gives for those that do.
#pragma once
#include <initializer_list>
#include <string>

#include <tenon/graph/ir/operator.hpp>

namespace support {

inline tenon::OperandTypes operand_types(std::initializer_list<tenon::TensorType> operands) {
  tenon::OperandTypes types;
  for (const tenon::TensorType& t : operands) types.type[types.count++] = t;
  return types;
}
/// `type<float, dyn, 3>()`: type_of<float, Shape<dyn, 3>>, for which nvcc may have no name in a test with lambdas.
template <class T, int... Extents>
constexpr tenon::TensorType type() {
  return {{Extents...}, sizeof...(Extents), tenon::dtype_of<T>};
}
/// The sentence of Op's shape rule; empty if it accepts the operands.
template <class Op>
std::string refusal(const typename Op::Config& config, std::initializer_list<tenon::TensorType> operands) {
  tenon::Sentence error;
  Op::shape(operand_types(operands), config, error);
  return std::string(error.view());
}
/// The result type as text, "float32 [n,3]"; the sentence if the operands do not fit.
template <class Op>
std::string result_type(const typename Op::Config& config, std::initializer_list<tenon::TensorType> operands) {
  tenon::Sentence error, type;
  const tenon::TensorType t = Op::shape(operand_types(operands), config, error);
  if (!error.empty()) return std::string(error.view());
  type << tenon::name(t.dtype) << " " << t;
  return std::string(type.view());
}

}  // namespace support
