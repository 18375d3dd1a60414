// Which dtypes each operator of ONNX 17 accepts, and which dtype replaces one that it does not accept.
// Source: the schemas of ONNX 1.12, onnx/defs.
#pragma once
#include <optional>
#include <string_view>

#include <tenon/core/dtype.hpp>

namespace tenon::inline TENON_ABI::onnx {

namespace detail {
constexpr unsigned bit(Dtype dtype) { return 1u << int(dtype); }
inline constexpr unsigned reals = bit(Dtype::float16) | bit(Dtype::float32) | bit(Dtype::float64),
                          reals_and_bfloat16 = reals | bit(Dtype::bfloat16), logical = bit(Dtype::bool_),
                          small_integers =
                              bit(Dtype::int8) | bit(Dtype::int16) | bit(Dtype::uint8) | bit(Dtype::uint16),
                          wide_unsigned = bit(Dtype::uint32) | bit(Dtype::uint64),
                          signed_integers =
                              bit(Dtype::int8) | bit(Dtype::int16) | bit(Dtype::int32) | bit(Dtype::int64),
                          everything = (bit(Dtype::float64) << 1) - 1, numbers = everything & ~logical,
                          wide_numbers = numbers & ~small_integers;

struct OperatorTypes {
  std::string_view names;  // each between spaces
  unsigned taken;
};
inline constexpr OperatorTypes operator_types[]{
    {" Acos Acosh Asin Asinh Atan Atanh AveragePool Conv ConvTranspose Cos Cosh Det GRU HardSigmoid HardSwish LSTM "
     "Round Selu Sin Sinh Softplus Softsign Tan ",
     reals},
    {" Ceil Erf Exp Floor LayerNormalization Log LogSoftmax Reciprocal Sigmoid Softmax Sqrt Tanh ", reals_and_bfloat16},
    {" Abs Add ArgMax ArgMin Clip Div Greater GreaterOrEqual Less LessOrEqual Max Min Mod Mul Sign Sub ", numbers},
    {" CumSum MatMul PRelu ReduceMean ReduceProd ReduceSum ReduceSumSquare ", wide_numbers},
    {" MaxPool ", reals | bit(Dtype::int8) | bit(Dtype::uint8)},
    {" Neg Relu ", reals_and_bfloat16 | signed_integers},
    {" Pow ", reals_and_bfloat16 | bit(Dtype::int32) | bit(Dtype::int64)},
    {" Range ", bit(Dtype::float32) | bit(Dtype::float64) | bit(Dtype::int16) | bit(Dtype::int32) | bit(Dtype::int64)},
    {" ReduceMax ReduceMin ", numbers & ~bit(Dtype::int16) & ~bit(Dtype::uint16)},
    {" TopK ", numbers & ~bit(Dtype::bfloat16)},
    {" EyeLike OneHot ReverseSequence ", everything & ~bit(Dtype::bfloat16)},
    {" And Not Or Xor ", logical},
};
}  // namespace detail

/// Whether an operator takes values of this dtype.
constexpr bool takes(std::string_view operation, Dtype dtype) {
  for (const detail::OperatorTypes& row : detail::operator_types)
    for (std::size_t at = row.names.find(operation); at != row.names.npos; at = row.names.find(operation, at + 1))
      if (row.names[at - 1] == ' ' && row.names[at + operation.size()] == ' ')
        return (row.taken & detail::bit(dtype)) != 0;
  return true;
}
/// A dtype that the operator takes, and in which it gives the same values: a float of 16 bits is computed in float32
/// and rounded once, as Tenon does, and sums and products of small integers wrap around at the end.
constexpr std::optional<Dtype> stand_in(std::string_view operation, Dtype dtype) {
  if (dtype == Dtype::bfloat16 || dtype == Dtype::float16) return Dtype::float32;
  if (operation == "Pow") return std::nullopt;
  if (operation == "Range" && dtype != Dtype::uint64) return Dtype::int64;
  if (detail::bit(dtype) & detail::small_integers)
    return takes(operation, Dtype::int32) ? std::optional(Dtype::int32) : std::nullopt;
  if (dtype == Dtype::bool_ && takes(operation, Dtype::int32)) return Dtype::int32;
  return std::nullopt;
}
/// Whether the first result has the dtype of the values that the operator takes.
constexpr bool keeps_dtype(std::string_view operation) {
  for (const std::string_view other : {"ArgMax", "ArgMin", "Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual"})
    if (operation == other) return false;
  return true;
}

}  // namespace tenon::onnx
