// What every operand has in common: being found by the operators of tenon::ops, infix notation, method forms.
#pragma once
#include <source_location>
#include <type_traits>

#include <tenon/core/shape.hpp>
#include <tenon/core/text/report.hpp>

namespace tenon::inline TENON_ABI {

template <class T>
concept Scalar = std::is_arithmetic_v<std::remove_cvref_t<T>> || is_half<std::remove_cvref_t<T>>;

namespace ops {

/// Base of Tensor, Traced, Parameter, and Broken: it makes them operands. Argument-dependent look-up goes through it,
/// so that `relu(x)` finds tenon::ops::relu without a using-directive.
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

/// The same of an operand that is changed: `x += y`.
template <class V>
struct Into {
  V& value;
  Place location;
  constexpr Into(V& v, std::source_location at = std::source_location::current()) : value(v), location{at} {}
};

template <class V>
concept Operand = std::is_base_of_v<OperandTag, std::remove_cvref_t<V>>;
template <class V>
concept OperandOrScalar = Operand<V> || Scalar<V>;

namespace detail {
// A method hides the function of the same name; from here it is found.
template <class S, class X>
constexpr auto reshaped(const X& x, Place at) {
  return reshape<S>(x, at);
}
template <class X>
constexpr auto flattened(const X& x, Place at) {
  return flatten(x, at);
}
template <int... Order, class X>
constexpr auto transposed(const X& x, Place at) {
  return transpose<Order...>(x, at);
}
template <int axis, class X>
constexpr auto index_of_largest(const X& x, Place at) {
  return argmax<axis>(x, at);
}
template <class X, class... I>
constexpr auto index_of_largest_given(const X& x, I... axes) {
  return argmax(x, axes...);
}
template <class X, class... I>
constexpr auto reshaped_given(const X& x, I... extents) {
  return reshape(x, extents...);
}
template <class X, class... I>
constexpr auto flattened_given(const X& x, I... axes) {
  return flatten(x, axes...);
}
template <class X, class... I>
constexpr auto transposed_given(const X& x, I... axes) {
  return transpose(x, axes...);
}
template <class B>
struct NoPower {
  static constexpr Sentence sentence = Sentence{} << "^ is no power in C++: write square(x) or pow(x, y)";
};
template <class Self>
struct NoRange {
  static constexpr Sentence say() {
    if constexpr (requires(const Self& x) { x.values(); })
      return Sentence{} << "a tensor is no range: x.values() has its elements, x[i] is row i";
    else
      return Sentence{}
             << "a tensor in construct is no range: operators take it whole, slice<1, Part{0, 2}>(x) is a part";
  }
  static constexpr Sentence sentence = say();
};
/// What begin() and end() of a tensor give: enough for a user's loop to ask whether they differ, too little for the
/// concepts of std::ranges.
template <class Self>
struct NoIterator {
  // nvcc's front end looks at the element before it asks for the end: anything may be made of it
  struct Element {
    template <class T>
    constexpr operator T() const {
      return T();
    }
  };
  template <class Other>
  constexpr auto operator!=(const Other&) const {
    using Wrong = Mistake<NoRange<Self>>;
    return Wrong::corrected;
  }
  constexpr NoIterator& operator++() { return *this; }
  constexpr Element operator*() const { return {}; }
};
template <class X>
struct NoBatchSize {
  static constexpr Sentence sentence =
      Sentence{} << "construct does not know the batch size: write dyn for it in a Shape, as in reshape<Shape<dyn, "
                    "16>>(x), and reduce_mean<0>(x) divides by it; x.shape()[1] is a number";
};
/// The extents of a value, where they are static without reading it: `Shape<dyn, x.shape()[1]>`.
template <class Self>
struct Extents {
  const Self* of;
  /// The extent of an axis, counted from the end if negative. Of a leading axis that depends on n: what a tensor has
  /// at run time; a trace fails.
  constexpr long operator[](int axis) const {
    if constexpr (requires { Self::dims.rank; }) {
      if (axis < 0) axis += Self::dims.rank;
      const int extent = Self::dims.extent[axis];
      return extent >= 0 ? extent : of->extent(axis);
    } else return 1;  // after a mistake
  }
  static constexpr int size() {
    if constexpr (requires { Self::dims.rank; }) return Self::dims.rank;
    else return 0;
  }
};
template <class X>
constexpr auto abs_of(const X& x, Place at) {
  return abs(x, at);
}
template <class X>
constexpr auto exp_of(const X& x, Place at) {
  return exp(x, at);
}
template <class X>
constexpr auto log_of(const X& x, Place at) {
  return log(x, at);
}
template <class X>
constexpr auto relu_of(const X& x, Place at) {
  return relu(x, at);
}
template <class X>
constexpr auto sigmoid_of(const X& x, Place at) {
  return sigmoid(x, at);
}
template <class X>
constexpr auto sqrt_of(const X& x, Place at) {
  return sqrt(x, at);
}
template <class X>
constexpr auto tanh_of(const X& x, Place at) {
  return tanh(x, at);
}
}  // namespace detail

struct Add;
struct Sub;
struct Mul;
struct Less;
struct LessEqual;
struct Greater;
struct GreaterEqual;

/// Infix operators and method forms; the shortest way to the check of the shapes, for each level is a line of an error
/// message. `Self` derives from it. (Template headers are written out: nvcc finds only the first
/// of several friends with abbreviated ones.)
template <class Self>
struct Value : OperandTag {
  constexpr detail::NoIterator<Self> begin() const { return {}; }
  constexpr detail::NoIterator<Self> end() const { return {}; }
  template <OperandOrScalar B>
  friend constexpr auto operator+(At<Self> a, const B& b) {
    return binary<Add>(a.location.location, a.value, b);
  }
  template <OperandOrScalar B>
  friend constexpr auto operator-(At<Self> a, const B& b) {
    return binary<Sub>(a.location.location, a.value, b);
  }
  template <OperandOrScalar B>
  friend constexpr auto operator*(At<Self> a, const B& b) {
    return binary<Mul>(a.location.location, a.value, b);
  }
  template <OperandOrScalar B>
  friend constexpr auto operator/(At<Self> a, const B& b) {
    return div(a.value, b, a.location);
  }
  template <Scalar A>
  friend constexpr auto operator+(const A& a, At<Self> b) {
    return binary<Add>(b.location.location, a, b.value);
  }
  template <Scalar A>
  friend constexpr auto operator-(const A& a, At<Self> b) {
    return binary<Sub>(b.location.location, a, b.value);
  }
  template <Scalar A>
  friend constexpr auto operator*(const A& a, At<Self> b) {
    return binary<Mul>(b.location.location, a, b.value);
  }
  template <Scalar A>
  friend constexpr auto operator/(const A& a, At<Self> b) {
    return div(a, b.value, b.location);
  }
  // x += y is x = x + y: a new value for the variable, not for tensors that share its elements.
  template <OperandOrScalar B>
  friend constexpr Self& operator+=(Into<Self> a, const B& b) {
    return a.value = binary<Add>(a.location.location, a.value, b);
  }
  template <OperandOrScalar B>
  friend constexpr Self& operator-=(Into<Self> a, const B& b) {
    return a.value = binary<Sub>(a.location.location, a.value, b);
  }
  template <OperandOrScalar B>
  friend constexpr Self& operator*=(Into<Self> a, const B& b) {
    return a.value = binary<Mul>(a.location.location, a.value, b);
  }
  template <OperandOrScalar B>
  friend constexpr Self& operator/=(Into<Self> a, const B& b) {
    return a.value = div(a.value, b, a.location);
  }
  friend constexpr auto operator-(At<Self> a) { return neg(a.value, a.location); }
  template <OperandOrScalar B>
  friend constexpr auto operator<(At<Self> a, const B& b) {
    return binary<Less>(a.location.location, a.value, b);
  }
  template <OperandOrScalar B>
  friend constexpr auto operator<=(At<Self> a, const B& b) {
    return binary<LessEqual>(a.location.location, a.value, b);
  }
  template <OperandOrScalar B>
  friend constexpr auto operator>(At<Self> a, const B& b) {
    return binary<Greater>(a.location.location, a.value, b);
  }
  template <OperandOrScalar B>
  friend constexpr auto operator>=(At<Self> a, const B& b) {
    return binary<GreaterEqual>(a.location.location, a.value, b);
  }
  template <Scalar A>
  friend constexpr auto operator<(const A& a, At<Self> b) {
    return binary<Less>(b.location.location, a, b.value);
  }
  template <Scalar A>
  friend constexpr auto operator<=(const A& a, At<Self> b) {
    return binary<LessEqual>(b.location.location, a, b.value);
  }
  template <Scalar A>
  friend constexpr auto operator>(const A& a, At<Self> b) {
    return binary<Greater>(b.location.location, a, b.value);
  }
  template <Scalar A>
  friend constexpr auto operator>=(const A& a, At<Self> b) {
    return binary<GreaterEqual>(b.location.location, a, b.value);
  }

  /// Of bool element by element; of integers bit by bit (<tenon/ops/bitwise.hpp>).
  template <OperandOrScalar B>
  friend constexpr auto operator&(At<Self> a, const B& b) {
    return infix_and(a.value, b, a.location);
  }
  template <OperandOrScalar B>
  friend constexpr auto operator|(At<Self> a, const B& b) {
    return infix_or(a.value, b, a.location);
  }
  friend constexpr auto operator~(At<Self> a) { return infix_not(a.value, a.location); }
  /// Is no power: says which functions are.
  template <class B>
  friend constexpr auto operator^(const Self&, const B&) {
    using Wrong = Mistake<detail::NoPower<B>>;
    return Wrong::corrected;
  }
  /// The extents: `x.shape()[1]`, which is a constant if it is static, even in construct; `x.shape().size()` is the
  /// rank.
  constexpr auto shape() const { return detail::Extents<Self>{static_cast<const Self*>(this)}; }

  // Method forms. The functions are found when a method is used, by argument-dependent look-up: their headers may come
  // later.
  /// Reduction over Axes, or over all axes if none is given; negative axes count from the end: `x.mean<0>()`, `x.sum<1,
  /// 2>()`, `x.max()`.
  template <int... Axes>
  constexpr auto mean(std::source_location at = std::source_location::current()) const {
    return reduce_mean<Axes...>(self(), Place{at});
  }
  template <int... Axes>
  constexpr auto sum(std::source_location at = std::source_location::current()) const {
    return reduce_sum<Axes...>(self(), Place{at});
  }
  template <int... Axes>
  constexpr auto max(std::source_location at = std::source_location::current()) const {
    return reduce_max<Axes...>(self(), Place{at});
  }
  template <int... Axes>
  constexpr auto min(std::source_location at = std::source_location::current()) const {
    return reduce_min<Axes...>(self(), Place{at});
  }
  template <int... Axes>
  constexpr auto prod(std::source_location at = std::source_location::current()) const {
    return reduce_prod<Axes...>(self(), Place{at});
  }
  /// Index of the largest element along an axis, by default along the last one: `x.argmax<0>()`.
  template <int axis = -1>
  constexpr auto argmax(std::source_location at = std::source_location::current()) const {
    return detail::index_of_largest<axis>(self(), Place{at});
  }
  /// The operator of this name, element by element.
  constexpr auto abs(std::source_location at = std::source_location::current()) const {
    return detail::abs_of(self(), Place{at});
  }
  constexpr auto exp(std::source_location at = std::source_location::current()) const {
    return detail::exp_of(self(), Place{at});
  }
  constexpr auto log(std::source_location at = std::source_location::current()) const {
    return detail::log_of(self(), Place{at});
  }
  constexpr auto relu(std::source_location at = std::source_location::current()) const {
    return detail::relu_of(self(), Place{at});
  }
  constexpr auto sigmoid(std::source_location at = std::source_location::current()) const {
    return detail::sigmoid_of(self(), Place{at});
  }
  constexpr auto sqrt(std::source_location at = std::source_location::current()) const {
    return detail::sqrt_of(self(), Place{at});
  }
  constexpr auto tanh(std::source_location at = std::source_location::current()) const {
    return detail::tanh_of(self(), Place{at});
  }
  /// The same elements in another shape: `x.reshape<Shape<dyn, 400>>()`, `x.flatten()`.
  template <class S>
  constexpr auto reshape(std::source_location at = std::source_location::current()) const {
    return detail::reshaped<S>(self(), Place{at});
  }
  constexpr auto flatten(std::source_location at = std::source_location::current()) const {
    return detail::flattened(self(), Place{at});
  }
  /// Axis k of the result is axis Order[k]; without an order all axes are reversed.
  template <int... Order>
  constexpr auto transpose(std::source_location at = std::source_location::current()) const {
    return detail::transposed<Order...>(self(), Place{at});
  }

  // Called with arguments they say how to write it (ops/arguments.hpp).
  template <std::integral... I>
  constexpr auto mean(int axis, I... more) const {
    return reduce_mean(self(), axis, more...);
  }
  template <std::integral... I>
  constexpr auto sum(int axis, I... more) const {
    return reduce_sum(self(), axis, more...);
  }
  template <std::integral... I>
  constexpr auto max(int axis, I... more) const {
    return reduce_max(self(), axis, more...);
  }
  template <std::integral... I>
  constexpr auto min(int axis, I... more) const {
    return reduce_min(self(), axis, more...);
  }
  template <std::integral... I>
  constexpr auto argmax(int axis, I... more) const {
    return detail::index_of_largest_given(self(), axis, more...);
  }
  template <std::integral... I>
  constexpr auto reshape(int extent, I... more) const {
    return detail::reshaped_given(self(), extent, more...);
  }
  template <std::integral... I>
  constexpr auto flatten(int axis, I... more) const {
    return detail::flattened_given(self(), axis, more...);
  }
  template <std::integral... I>
  constexpr auto transpose(int axis, I... more) const {
    return detail::transposed_given(self(), axis, more...);
  }

 private:
  constexpr const Self& self() const { return static_cast<const Self&>(*this); }
};

// Not friends like the others, and without the place of the call: the language also tries == with its sides exchanged,
// which would be ambiguous if only the left one is converted.
constexpr auto operator==(const Operand auto& a, const OperandOrScalar auto& b) { return equal(a, b, Place{}); }
constexpr auto operator!=(const Operand auto& a, const OperandOrScalar auto& b) { return not_equal(a, b, Place{}); }
constexpr auto operator==(const Scalar auto& a, const Operand auto& b) { return equal(a, b, Place{}); }
constexpr auto operator!=(const Scalar auto& a, const Operand auto& b) { return not_equal(a, b, Place{}); }

}  // namespace ops
}  // namespace tenon
