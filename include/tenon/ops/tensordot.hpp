// Sums of products over axes of two tensors: tensordot, inner, dot.
#pragma once
#include <tenon/ops/einsum.hpp>

namespace tenon::inline TENON_ABI::ops {

/// Axes of a tensor, as a type; negative ones count from the end.
template <int... axis>
struct Axes {
  static constexpr int count = sizeof...(axis);
  static constexpr int number[]{axis..., 0};
};

namespace detail {
/// The letters of two tensors, of which axis k of the one list is summed with axis k of the other.
struct PairedLetters {
  Letters a, b;
  LetterSet kept = 0;
  bool fit = true;

  constexpr PairedLetters(const TensorType& x, const TensorType& y, const int* of_x, const int* of_y, int count) {
    for (int k = 0; k < x.rank; ++k) a.add(char('a' + k));
    for (int k = 0; k < y.rank; ++k) b.add(char('A' + k));
    kept = a.set() | b.set();
    for (int k = 0; k < count && fit; ++k) {
      const int i = normalized_axis(of_x[k], x.rank), j = normalized_axis(of_y[k], y.rank);
      fit = i >= 0 && j >= 0 && x[i] == y[j] && (kept & set_of(a[i])) && b[j] == char('A' + j);
      if (fit) kept &= ~(set_of(a[i]) | set_of(b[j])), b.letter[j] = a[i];
    }
  }
};
template <FixedString who, class A, class B, class AxesA, class AxesB>
struct TensordotCall {
  static constexpr FixedString name = who;
  static constexpr PairedLetters letters{A::dims, B::dims, AxesA::number, AxesB::number, AxesA::count};
  static constexpr void list(Sentence& error, const int* axis) {
    for (int k = 0; k < AxesA::count; ++k) (k ? error << "," : error) << axis[k];
  }
  static constexpr void write(Sentence& error, const TensorType&) {
    error << who.view() << " of " << A::dims << " and " << B::dims << " over the axes ";
    list(error, AxesA::number);
    error << " and ";
    list(error, AxesB::number);
    if (letters.fit) error << ": the product has more than " << max_rank << " axes";
    else error << ": each pair needs two axes of one extent";
  }
};
template <FixedString who, class AxesA, class AxesB, class A, class B>
constexpr auto tensordot_of(const std::source_location& at, const A& a, const B& b) {
  static_assert(AxesA::count == AxesB::count, "tensordot needs as many axes of the first tensor as of the second");
  if constexpr (is_broken<A> || is_broken<B>) return mul(a, b, at);
  else {
    using Call = TensordotCall<who, A, B, AxesA, AxesB>;
    if constexpr (!Call::letters.fit) return apply<Refused<Call>>(at, a, b);
    else {
      constexpr PairedLetters l = Call::letters;
      const auto sum = contracted<Call, l.kept>(at, term<l.a>(a), term<l.b>(b));
      if constexpr (is_broken_term<decltype(sum)>) return sum.value;
      else
        return in_order<std::remove_const_t<decltype(sum)>::letters, (l.a + l.b.without(l.a.set())).within(l.kept)>(
            at, sum.value);
    }
  }
}
template <int count>
struct CountedAxes {
  template <int... k>
  static Axes<(k - count)...> last(std::integer_sequence<int, k...>);
  template <int... k>
  static Axes<k...> first(std::integer_sequence<int, k...>);
  using Last = decltype(last(std::make_integer_sequence<int, count>{}));
  using First = decltype(first(std::make_integer_sequence<int, count>{}));
};
}  // namespace detail

/// The sum of products over the last `count` axes of a and the first ones of b: `tensordot<2>(a, b)` of [I, J, K] and
/// [J, K, L] is [I, L].
///
/// a, b        static shapes, or a leading extent that depends on n; one dtype, floating-point or integer
/// result      the other axes of a, then those of b
/// derivative  of the operators it consists of
/// order       as matmul
/// source      MindSpore's and PyTorch's tensordot
template <int count = 2>
constexpr auto tensordot(const Operand auto& a, const Operand auto& b,
                         std::source_location at = std::source_location::current()) {
  using Counted = detail::CountedAxes<count>;
  return detail::tensordot_of<"Tensordot", typename Counted::Last, typename Counted::First>(at, a, b);
}
/// The same over given axes: `tensordot<Axes<0, 2>, Axes<1, 0>>(a, b)`.
template <class AxesA, class AxesB>
constexpr auto tensordot(const Operand auto& a, const Operand auto& b,
                         std::source_location at = std::source_location::current()) {
  return detail::tensordot_of<"Tensordot", AxesA, AxesB>(at, a, b);
}
/// The sum of products over the last axes of both.
constexpr auto inner(const Operand auto& a, const Operand auto& b,
                     std::source_location at = std::source_location::current()) {
  return detail::tensordot_of<"Inner", Axes<-1>, Axes<-1>>(at, a, b);
}
/// The sum of products over the last axis of a and the last but one of b, of a vector b its only one. MindSpore's
/// ops.dot, and NumPy's.
template <Operand A, Operand B>
constexpr auto dot(const A& a, const B& b, std::source_location at = std::source_location::current()) {
  if constexpr (is_broken<B>) return b;
  else return detail::tensordot_of<"Dot", Axes<-1>, Axes<(B::dims.rank > 1 ? -2 : -1)>>(at, a, b);
}

}  // namespace tenon::ops

namespace tenon::inline TENON_ABI {
using ops::Axes;
}  // namespace tenon
