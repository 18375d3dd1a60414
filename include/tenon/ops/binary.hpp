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

// A fractional number beside integers or bool makes both float32; any other number takes the tensor's dtype.
template <class T, class N>
inline constexpr bool becomes_float = std::is_floating_point_v<N> && !is_floating(dtype_of<T>);

template <class X>
constexpr auto as_float(const Location& at, const X& x) {
  if constexpr (is_broken<X>) return x;
  else return apply<Cast, Cast::Config{Dtype::float32}>(at, x);
}
}  // namespace detail

template <class V>
using ElementOf = typename detail::ElementOf<std::remove_cvref_t<V>>::type;
/// A number of type N as an operand beside a tensor of T.
template <class T, class N>
using NumberFor = Number<std::conditional_t<detail::becomes_float<T, N>, float, T>>;

/// Calls Op on two operands of which one may be a number: `binary<Add>(at, x, 2)`.
///
/// A whole number takes the dtype of the tensor; a fractional one too, unless that is an integer or bool: then the
/// tensor is cast to float32. As MindSpore.
template <class Op, class A, class B>
constexpr auto binary(const Location& at, const A& a, const B& b) {
  if constexpr (Scalar<A>) {
    const NumberFor<ElementOf<B>, A> number(static_cast<double>(a));
    if constexpr (detail::becomes_float<ElementOf<B>, A>) return apply<Op>(at, number, detail::as_float(at, b));
    else return apply<Op>(at, number, b);
  } else if constexpr (Scalar<B>) {
    const NumberFor<ElementOf<A>, B> number(static_cast<double>(b));
    if constexpr (detail::becomes_float<ElementOf<A>, B>) return apply<Op>(at, detail::as_float(at, a), number);
    else return apply<Op>(at, a, number);
  } else {
    using Call = tenon::detail::EagerCall<Op, typename Op::Config{}, A, B>;
    if constexpr (Call::ok) return apply<Op>(at, a, b);
    else {  // as in apply: a step closer to the user
      using Wrong = Mistake<Call>;
      return Wrong::corrected;
    }
  }
}

}  // namespace tenon::ops
