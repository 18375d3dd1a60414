// Operators on the bits of integers: bitwise_and, bitwise_or, bitwise_xor, bitwise_not, shifts.
#pragma once
#include <tenon/core/math/wrapping.hpp>
#include <tenon/ops/binary.hpp>

namespace tenon::inline TENON_ABI::ops {
TENON_EXACT_BEGIN
/// Base of operators on bits: element-wise with broadcasting.
///
/// a, b        shapes that broadcast; integers of the same dtype (or bool, not for shifts)
/// derivative  none: integers have no gradient
/// source      MindSpore's BitwiseAnd, BitwiseOr, BitwiseXor, LeftShift, RightShift; PyTorch's bitwise_and and so on
template <class Op, FixedString Name>
struct Bitwise : Elementwise<Op, Name> {
  static constexpr None derivative{};
  static constexpr TensorType shape(const OperandTypes& in, const NoConfig& config, Sentence& error) {
    const TensorType result = Elementwise<Op, Name>::shape(in, config, error);
    if (error.empty() && is_floating(in[0].dtype))
      error << Op::name << " needs integers, got " << tenon::name(in[0].dtype) << " " << in[0] << ": cast it";
    return result;
  }
};
struct BitwiseAnd : Bitwise<BitwiseAnd, "BitwiseAnd"> {
  template <class V>
  static constexpr V eval(V a, V b) {
    if constexpr (std::is_integral_v<V>) return static_cast<V>(a & b);
    else return a;
  }
};
struct BitwiseOr : Bitwise<BitwiseOr, "BitwiseOr"> {
  template <class V>
  static constexpr V eval(V a, V b) {
    if constexpr (std::is_integral_v<V>) return static_cast<V>(a | b);
    else return a;
  }
};
struct BitwiseXor : Bitwise<BitwiseXor, "BitwiseXor"> {
  template <class V>
  static constexpr V eval(V a, V b) {
    if constexpr (std::is_integral_v<V>) return static_cast<V>(a ^ b);
    else return a;
  }
};
struct BitwiseNot : Bitwise<BitwiseNot, "BitwiseNot"> {
  template <class V>
  static constexpr V eval(V a) {
    if constexpr (std::is_same_v<V, bool>) return !a;
    else if constexpr (std::is_integral_v<V>) return static_cast<V>(~a);
    else return a;
  }
};
/// a 2^b without what leaves the dtype on the left. A b that is negative, or not below the number of bits, gives 0.
struct LeftShift : Bitwise<LeftShift, "LeftShift"> {
  static constexpr bool numbers_only = true;
  template <class V>
  static constexpr V eval(V a, V b) {
    if constexpr (std::is_integral_v<V>) {
      using Bits = math::Modular<V>;
      const bool inside = b >= V(0) && static_cast<Bits>(b) < sizeof(V) * 8;
      return inside ? static_cast<V>(static_cast<Bits>(a) << static_cast<Bits>(b)) : V(0);
    } else return a;
  }
};
/// a / 2^b rounded down. A b that is negative, or not below the number of bits, gives 0, and -1 for a negative a.
struct RightShift : Bitwise<RightShift, "RightShift"> {
  static constexpr bool numbers_only = true;
  template <class V>
  static constexpr V eval(V a, V b) {
    if constexpr (std::is_integral_v<V>) {
      using Bits = math::Modular<V>;
      const bool inside = b >= V(0) && static_cast<Bits>(b) < sizeof(V) * 8;
      return inside ? static_cast<V>(a >> b) : a < V(0) ? static_cast<V>(V(0) - V(1)) : V(0);
    } else return a;
  }
};
TENON_EXACT_END

/// a & b, bit by bit, with broadcasting; one of them may be a whole number.
constexpr auto bitwise_and(const OperandOrScalar auto& a, const OperandOrScalar auto& b,
                           std::source_location at = std::source_location::current()) {
  return binary<BitwiseAnd>(at, a, b);
}
/// a | b, bit by bit, with broadcasting; one of them may be a whole number.
constexpr auto bitwise_or(const OperandOrScalar auto& a, const OperandOrScalar auto& b,
                          std::source_location at = std::source_location::current()) {
  return binary<BitwiseOr>(at, a, b);
}
/// a ^ b, bit by bit, with broadcasting; one of them may be a whole number.
constexpr auto bitwise_xor(const OperandOrScalar auto& a, const OperandOrScalar auto& b,
                           std::source_location at = std::source_location::current()) {
  return binary<BitwiseXor>(at, a, b);
}
/// a << b as LeftShift says, with broadcasting; one of them may be a whole number.
constexpr auto bitwise_left_shift(const OperandOrScalar auto& a, const OperandOrScalar auto& b,
                                  std::source_location at = std::source_location::current()) {
  return binary<LeftShift>(at, a, b);
}
/// a >> b as RightShift says, with broadcasting; one of them may be a whole number.
constexpr auto bitwise_right_shift(const OperandOrScalar auto& a, const OperandOrScalar auto& b,
                                   std::source_location at = std::source_location::current()) {
  return binary<RightShift>(at, a, b);
}
/// All bits inverted; of bool the opposite.
constexpr auto bitwise_not(const Operand auto& a, std::source_location at = std::source_location::current()) {
  return apply<BitwiseNot>(at, a);
}

}  // namespace tenon::ops
