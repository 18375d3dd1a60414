// A common dtype for tensors of several ones, by MindSpore's table: promote.
#pragma once
#include <optional>
#include <tuple>

#include <tenon/ops/cast.hpp>
#include <tenon/ops/refused.hpp>

namespace tenon::inline TENON_ABI {

/// The dtype in which MindSpore combines tensors of two: a float before an integer, the wider of two, int16 for int8
/// and uint8, float32 for float16 and bfloat16; bool gives way. None for uint16, uint32, or uint64 and another dtype
/// (PyTorch combines these with floats). Otherwise as in PyTorch.
constexpr std::optional<Dtype> common_dtype(Dtype a, Dtype b) {
  const auto is_wide_unsigned = [](Dtype d) { return d >= Dtype::uint16 && d <= Dtype::uint64; };
  if (a == b) return a;
  if (is_wide_unsigned(a) || is_wide_unsigned(b)) return std::nullopt;
  if (a == Dtype::bool_) return b;
  if (b == Dtype::bool_) return a;
  if (is_half_dtype(a) && is_half_dtype(b)) return Dtype::float32;
  if (is_floating(a) || is_floating(b)) return a > b ? a : b;  // floats come after integers, in ascending width
  if (a == Dtype::uint8 || b == Dtype::uint8) {
    const Dtype other = a == Dtype::uint8 ? b : a;
    return other == Dtype::int8 ? Dtype::int16 : other;
  }
  return a > b ? a : b;
}

namespace ops {

namespace detail {
template <class... V>
constexpr std::optional<Dtype> common_dtype_of() {
  constexpr TensorType types[]{V::dims...};
  std::optional<Dtype> common = types[0].dtype;
  for (const TensorType& t : types)
    if (common) common = tenon::common_dtype(*common, t.dtype);
  return common;
}
template <class... V>
struct PromoteRule {
  static constexpr FixedString name{"Promote"};
  static constexpr void write(Sentence& error, const TensorType&) {
    constexpr TensorType types[]{V::dims...};
    error << "Promote of ";
    for (int k = 0; k < int(sizeof...(V)); ++k) {
      if (k) error << " and ";
      error << tenon::name(types[k].dtype) << " " << types[k];
    }
    error << ": they have no common dtype in MindSpore's table; cast one of them";
  }
};
}  // namespace detail

/// The operands in their common dtype, as a tuple: `const auto [x, y] = promote(a, b); x + y`. Operators take operands
/// of one dtype, so that no cast is hidden; this is the switch to MindSpore's and PyTorch's implicit conversion. Shapes
/// stay as they are; a parameter comes in by value_in(x, parameter).
///
/// derivative  cast back to the dtype of the operand
/// source      MindSpore's implicit conversion, PyTorch's result_type
template <Operand... V>
constexpr auto promote(const V&... operands) {
  static_assert(sizeof...(V) > 1, "promote(a, b) needs two operands or more");
  static_assert(!(std::is_base_of_v<ParameterHandle, V> || ...),
                "promote: bring a parameter in by value_in(x, parameter)");
  const std::source_location at = std::source_location::current();
  if constexpr ((is_broken<V> || ...)) return std::tuple{operands...};
  else if constexpr (constexpr std::optional<Dtype> common = detail::common_dtype_of<V...>(); !common)
    return std::tuple{((void)operands, apply<Refused<detail::PromoteRule<V...>>>(at, operands))...};
  else return std::tuple{cast<CppType<*common>>(operands, at)...};
}

}  // namespace ops
}  // namespace tenon
