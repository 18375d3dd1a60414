// A call with two operands of which one may be a number.
#pragma once
#include <tenon/ops/cast.hpp>

namespace tenon::inline TENON_ABI::ops {

namespace detail {
template <class V>
struct ElementOf {
  using type = typename std::remove_cvref_t<V>::type;
};
template <>
struct ElementOf<Broken> {
  using type = float;
};

// The dtype of a tensor of T beside a number of type N: a fractional number, of any size, makes integers and bool
// float32; a whole one makes bool int64.
template <class T, class N>
using Beside =
    std::conditional_t<!std::is_integral_v<N> && !is_floating(dtype_of<T>), float,
                       std::conditional_t<std::is_same_v<T, bool> && !std::is_same_v<N, bool>, std::int64_t, T>>;

template <class T, class X>
constexpr decltype(auto) cast_to(const std::source_location& at, const X& x) {
  if constexpr (is_broken<X> || std::is_same_v<T, typename ElementOf<X>::type>) return (x);
  else return apply<Cast, Cast::Config{dtype_of<T>}>(at, x);
}
}  // namespace detail

template <class V>
using ElementOf = typename detail::ElementOf<std::remove_cvref_t<V>>::type;

/// Calls Op on two operands of which one may be a number: `binary<Add>(at, x, 2)`.
///
/// A number takes the dtype of the tensor, with two exceptions: a fractional number casts a tensor of integers or bool
/// to float32, and a whole number casts a tensor of bool to int64. As PyTorch. Throws ValueError for a whole number
/// that the integers of the tensor do not have; in graph mode that is an error of the compiler.
template <class Op, class A, class B>
constexpr auto binary(const std::source_location& at, const A& a, const B& b) {
  if constexpr (Scalar<A>) {
    using T = detail::Beside<ElementOf<B>, A>;
    return apply<Op>(at, Number<T>(a), detail::cast_to<T>(at, b));
  } else if constexpr (Scalar<B>) {
    using T = detail::Beside<ElementOf<A>, B>;
    return apply<Op>(at, detail::cast_to<T>(at, a), Number<T>(b));
  } else {
    using Call = tenon::detail::EagerCall<Op, typename Op::Config{}, A, B>;
    if constexpr (Call::ok) return apply<Op>(at, a, b);
    else {  // as in apply: a step closer to the user
      using Wrong = Mistake<Call>;
      return Wrong::corrected;
    }
  }
}

struct LogicalAnd;
struct LogicalOr;
// What & | ~ mean: of integers the operators of bitwise.hpp, which are found when they are used.
template <class A, class B>
constexpr auto infix_and(const A& a, const B& b, Place at) {
  if constexpr (std::is_same_v<ElementOf<A>, bool>) return binary<LogicalAnd>(at.location, a, b);
  else return bitwise_and(a, b, at);
}
template <class A, class B>
constexpr auto infix_or(const A& a, const B& b, Place at) {
  if constexpr (std::is_same_v<ElementOf<A>, bool>) return binary<LogicalOr>(at.location, a, b);
  else return bitwise_or(a, b, at);
}
template <class A>
constexpr auto infix_not(const A& a, Place at) {
  if constexpr (std::is_same_v<ElementOf<A>, bool>) return logical_not(a, at);
  else return bitwise_not(a, at);
}

}  // namespace tenon::ops
