// What every operand has in common: being found by the operators of tenon::ops, infix notation, method forms.
#pragma once
#include <source_location>
#include <type_traits>

#include <tenon/core/shape.hpp>

namespace tenon::inline TENON_ABI {

template <class T> concept Scalar = std::is_arithmetic_v<std::remove_cvref_t<T>>;

namespace ops {

/// Base of Tensor, Traced, Parameter, and Broken: it makes them operands. Argument-dependent look-up goes through it, so
/// that `relu(x)` finds tenon::ops::relu without a using-directive.
struct OperandTag {};

/// The place of a call, in a type of our own: a std::source_location among the arguments would let std::equal join the
/// look-up of `equal`.
struct Place {
  std::source_location location{};
  constexpr operator std::source_location() const { return location; }
};

/// An operand together with the place of the call. Binary operators cannot have a defaulted argument; converting the
/// left operand to this type records the place instead.
template <class V>
struct At {
  const V& value;
  Place location;
  constexpr At(const V& v, std::source_location at = std::source_location::current()) : value(v), location{at} {}
};

template <class V> concept Operand = std::is_base_of_v<OperandTag, std::remove_cvref_t<V>>;
template <class V> concept OperandOrScalar = Operand<V> || Scalar<V>;

/// Infix operators and method forms. `Self` derives from it. (Template headers are written out: nvcc finds only the first
/// of several friends with abbreviated ones.)
template <class Self>
struct Value : OperandTag {
  template <OperandOrScalar B> friend constexpr auto operator+(At<Self> a, const B& b) { return add(a.value, b, a.location); }
  template <OperandOrScalar B> friend constexpr auto operator-(At<Self> a, const B& b) { return sub(a.value, b, a.location); }
  template <OperandOrScalar B> friend constexpr auto operator*(At<Self> a, const B& b) { return mul(a.value, b, a.location); }
  template <OperandOrScalar B> friend constexpr auto operator/(At<Self> a, const B& b) { return div(a.value, b, a.location); }
  template <Scalar A> friend constexpr auto operator+(const A& a, At<Self> b) { return add(a, b.value, b.location); }
  template <Scalar A> friend constexpr auto operator-(const A& a, At<Self> b) { return sub(a, b.value, b.location); }
  template <Scalar A> friend constexpr auto operator*(const A& a, At<Self> b) { return mul(a, b.value, b.location); }
  template <Scalar A> friend constexpr auto operator/(const A& a, At<Self> b) { return div(a, b.value, b.location); }
  friend constexpr auto operator-(At<Self> a) { return neg(a.value, a.location); }
  template <OperandOrScalar B> friend constexpr auto operator<(At<Self> a, const B& b) { return less(a.value, b, a.location); }
  template <OperandOrScalar B> friend constexpr auto operator<=(At<Self> a, const B& b) { return less_equal(a.value, b, a.location); }
  template <OperandOrScalar B> friend constexpr auto operator>(At<Self> a, const B& b) { return greater(a.value, b, a.location); }
  template <OperandOrScalar B> friend constexpr auto operator>=(At<Self> a, const B& b) { return greater_equal(a.value, b, a.location); }
  template <Scalar A> friend constexpr auto operator<(const A& a, At<Self> b) { return less(a, b.value, b.location); }
  template <Scalar A> friend constexpr auto operator<=(const A& a, At<Self> b) { return less_equal(a, b.value, b.location); }
  template <Scalar A> friend constexpr auto operator>(const A& a, At<Self> b) { return greater(a, b.value, b.location); }
  template <Scalar A> friend constexpr auto operator>=(const A& a, At<Self> b) { return greater_equal(a, b.value, b.location); }
};

// Not friends like the others, and without the place of the call: the language also tries == with its sides exchanged,
// which would be ambiguous if only the left one is converted.
constexpr auto operator==(const Operand auto& a, const OperandOrScalar auto& b) { return equal(a, b, Place{}); }
constexpr auto operator!=(const Operand auto& a, const OperandOrScalar auto& b) { return not_equal(a, b, Place{}); }
constexpr auto operator==(const Scalar auto& a, const Operand auto& b) { return equal(a, b, Place{}); }
constexpr auto operator!=(const Scalar auto& a, const Operand auto& b) { return not_equal(a, b, Place{}); }

}  // namespace ops
}  // namespace tenon
