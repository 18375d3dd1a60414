// Logical operators on bool: and, or, xor, not.
#pragma once
#include <tenon/ops/elementwise.hpp>

namespace tenon::inline TENON_ABI::ops {
TENON_EXACT_BEGIN
/// Base of the logical operators: element-wise on bool, with broadcasting.
///
/// a, b        bool
/// derivative  none: a bool has no gradient
/// source      MindSpore's LogicalAnd, LogicalOr, LogicalXor, LogicalNot
template <class Op, FixedString Name>
struct Logical : Elementwise<Op, Name> {
  static constexpr bool bool_only = true;
  static constexpr None derivative{};
};
struct LogicalAnd : Logical<LogicalAnd, "LogicalAnd"> {
  static constexpr bool eval(bool a, bool b) { return a && b; }
};
struct LogicalOr : Logical<LogicalOr, "LogicalOr"> {
  static constexpr bool eval(bool a, bool b) { return a || b; }
};
struct LogicalXor : Logical<LogicalXor, "LogicalXor"> {
  static constexpr bool eval(bool a, bool b) { return a != b; }
};
struct LogicalNot : Logical<LogicalNot, "LogicalNot"> {
  static constexpr bool eval(bool a) { return !a; }
};
TENON_EXACT_END

/// a && b element by element, of bool, with broadcasting.
constexpr auto logical_and(const Operand auto& a, const Operand auto& b,
                           std::source_location at = std::source_location::current()) {
  return apply<LogicalAnd>(at, a, b);
}
/// a || b element by element, of bool, with broadcasting.
constexpr auto logical_or(const Operand auto& a, const Operand auto& b,
                          std::source_location at = std::source_location::current()) {
  return apply<LogicalOr>(at, a, b);
}
/// Whether one of a and b is true, and not both, element by element, of bool, with broadcasting.
constexpr auto logical_xor(const Operand auto& a, const Operand auto& b,
                           std::source_location at = std::source_location::current()) {
  return apply<LogicalXor>(at, a, b);
}
/// The opposite of each element of x, of bool.
constexpr auto logical_not(const Operand auto& x, std::source_location at = std::source_location::current()) {
  return apply<LogicalNot>(at, x);
}

}  // namespace tenon::ops
