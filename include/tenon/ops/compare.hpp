// Comparisons of two tensors: equal, not_equal, less, less_equal, greater, greater_equal.
#pragma once
#include <tenon/ops/binary.hpp>

namespace tenon::inline TENON_ABI::ops {
TENON_EXACT_BEGIN
/// Base of the comparisons: element-wise with broadcasting, as in IEEE 754 (NaN differs from every number, including
/// itself).
///
/// a, b        shapes that broadcast; any dtype, the same for both
/// result      bool
/// derivative  none: a bool has no gradient
/// source      MindSpore's Equal, NotEqual, Less, LessEqual, Greater, GreaterEqual
template <class Op, FixedString Name>
struct Comparison : Elementwise<Op, Name> {
  static constexpr Dtype result_dtype(Dtype) { return Dtype::bool_; }
  static constexpr None derivative{};
};
struct Equal : Comparison<Equal, "Equal"> {
  template <class V>
  static constexpr bool eval(V a, V b) {
    return a == b;
  }
};
struct NotEqual : Comparison<NotEqual, "NotEqual"> {
  template <class V>
  static constexpr bool eval(V a, V b) {
    return a != b;
  }
};
struct Less : Comparison<Less, "Less"> {
  template <class V>
  static constexpr bool eval(V a, V b) {
    return a < b;
  }
};
struct LessEqual : Comparison<LessEqual, "LessEqual"> {
  template <class V>
  static constexpr bool eval(V a, V b) {
    return a <= b;
  }
};
struct Greater : Comparison<Greater, "Greater"> {
  template <class V>
  static constexpr bool eval(V a, V b) {
    return a > b;
  }
};
struct GreaterEqual : Comparison<GreaterEqual, "GreaterEqual"> {
  template <class V>
  static constexpr bool eval(V a, V b) {
    return a >= b;
  }
};
TENON_EXACT_END

/// a == b as bool, with broadcasting; one operand may be a number. False where one of them is NaN.
constexpr auto equal(const OperandOrScalar auto& a, const OperandOrScalar auto& b,
                     std::source_location at = std::source_location::current()) {
  return binary<Equal>(at, a, b);
}
/// a != b as bool, with broadcasting; one operand may be a number. True where one of them is NaN.
constexpr auto not_equal(const OperandOrScalar auto& a, const OperandOrScalar auto& b,
                         std::source_location at = std::source_location::current()) {
  return binary<NotEqual>(at, a, b);
}
/// a < b as bool, with broadcasting; one operand may be a number. False where one of them is NaN.
constexpr auto less(const OperandOrScalar auto& a, const OperandOrScalar auto& b,
                    std::source_location at = std::source_location::current()) {
  return binary<Less>(at, a, b);
}
/// a <= b as bool, with broadcasting; one operand may be a number. False where one of them is NaN.
constexpr auto less_equal(const OperandOrScalar auto& a, const OperandOrScalar auto& b,
                          std::source_location at = std::source_location::current()) {
  return binary<LessEqual>(at, a, b);
}
/// a > b as bool, with broadcasting; one operand may be a number. False where one of them is NaN.
constexpr auto greater(const OperandOrScalar auto& a, const OperandOrScalar auto& b,
                       std::source_location at = std::source_location::current()) {
  return binary<Greater>(at, a, b);
}
/// a >= b as bool, with broadcasting; one operand may be a number. False where one of them is NaN.
constexpr auto greater_equal(const OperandOrScalar auto& a, const OperandOrScalar auto& b,
                             std::source_location at = std::source_location::current()) {
  return binary<GreaterEqual>(at, a, b);
}

}  // namespace tenon::ops
