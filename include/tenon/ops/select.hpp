// Selects elements from two tensors by a condition: select, where, masked_fill.
#pragma once
#include <bit>
#include <cstdint>

#include <tenon/ops/binary.hpp>

namespace tenon::inline TENON_ABI::ops {
TENON_EXACT_BEGIN
/// y = a where the condition is true, b where it is false, with broadcasting of all three
///
/// condition   bool
/// a, b        any dtype, the same for both
/// result      the dtype of a
/// derivative  dy where the condition is true to a, where it is false to b; else 0
/// source      MindSpore's Select, PyTorch's where
struct Select : Elementwise<Select, "Select"> {
  template <class V>
  static constexpr V eval(bool condition, V a, V b) {
    if constexpr (std::is_same_v<V, float>) return math::detail::choose(condition, a, b);
    else if constexpr (sizeof(V) >= 4)
      return by_mask<std::conditional_t<sizeof(V) == 4, std::uint32_t, std::uint64_t>>(condition, a, b);
    else return condition ? a : b;
  }

  // As math::detail::choose.
  template <class Bits, class V>
  [[gnu::always_inline]] static constexpr V by_mask(bool condition, V a, V b) {
    const Bits mask = Bits(0) - static_cast<Bits>(condition);
    return std::bit_cast<V>((std::bit_cast<Bits>(a) & mask) | (std::bit_cast<Bits>(b) & ~mask));
  }

  static constexpr TensorType shape(const OperandTypes& in, const NoConfig&, Sentence& error) {
    TensorType result = in[0], wider;
    for (int k = 1; k < 3 && error.empty(); ++k) {
      if (broadcast(result, in[k], wider)) result = wider;
      else error << "Select of " << in[0] << ", " << in[1] << ", and " << in[2] << ": the shapes do not broadcast";
    }
    if (error.empty() && in[0].dtype != Dtype::bool_)
      error << "Select needs a bool condition, got " << tenon::name(in[0].dtype) << " " << in[0]
            << ": compare it with something";
    if (error.empty() && in[1].dtype != in[2].dtype)
      error << "Select between " << tenon::name(in[1].dtype) << " " << in[1] << " and " << tenon::name(in[2].dtype)
            << " " << in[2] << ": cast one of them, dtypes must agree";
    return result.with(in[1].dtype);
  }
  static constexpr void derivative(Derivative& d) {
    const int zero = d.constant(0, 1);
    d.flows_to(1, d.call<Select>(d.operand(0), d.gradient(), zero));
    d.flows_to(2, d.call<Select>(d.operand(0), zero, d.gradient()));
  }
};
TENON_EXACT_END

/// a where `condition` is true, else b; a or b may be a number, which is converted as in `binary`: a fractional number
/// combined with integers makes both float32.
template <Operand C, OperandOrScalar A, OperandOrScalar B>
constexpr auto select(const C& condition, const A& a, const B& b,
                      std::source_location at = std::source_location::current()) {
  static_assert(!(Scalar<A> && Scalar<B>), "select between two numbers has no dtype: make one of them a tensor");
  if constexpr (Scalar<A>) {
    using T = detail::Beside<ElementOf<B>, A>;
    return apply<Select>(at, condition, Number<T>(a), detail::cast_to<T>(at, b));
  } else if constexpr (Scalar<B>) {
    using T = detail::Beside<ElementOf<A>, B>;
    return apply<Select>(at, condition, detail::cast_to<T>(at, a), Number<T>(b));
  } else return apply<Select>(at, condition, a, b);
}
/// The same under NumPy's name.
constexpr auto where(const Operand auto& condition, const OperandOrScalar auto& a, const OperandOrScalar auto& b,
                     std::source_location at = std::source_location::current()) {
  return select(condition, a, b, at);
}
/// x with `value` where `mask` is true; MindSpore's masked_fill.
constexpr auto masked_fill(const Operand auto& x, const Operand auto& mask, const OperandOrScalar auto& value,
                           std::source_location at = std::source_location::current()) {
  return select(mask, value, x, at);
}

}  // namespace tenon::ops
