// Sums of products of elements whose axes are named by letters: einsum.
#pragma once
#include <tenon/ops/einsum_letters.hpp>
#include <tenon/ops/matmul.hpp>
#include <tenon/ops/mul.hpp>
#include <tenon/ops/reduce_sum.hpp>
#include <tenon/ops/refused.hpp>
#include <tenon/ops/slice.hpp>
#include <tenon/ops/transpose.hpp>

namespace tenon::inline TENON_ABI::ops {

namespace detail {
/// An operand of a sum of products, and the letters of its axes.
template <Letters own, class V>
struct Term {
  static constexpr Letters letters = own;
  V value;
};
template <Letters own, class V>
constexpr Term<own, V> term(const V& value) {
  return {value};
}
template <class T>
inline constexpr bool is_broken_term = is_broken<decltype(std::remove_cvref_t<T>::value)>;
template <class T>
inline constexpr TensorType dims_of = decltype(std::remove_cvref_t<T>::value)::dims;

/// A call of einsum: its letters, and what is wrong with them.
template <FixedString text, class... V>
struct EinsumCall {
  static constexpr FixedString name{"Einsum"};
  static constexpr TensorType types[]{V::dims...};
  static constexpr Subscripts letters = subscripts(text.view(), types, int(sizeof...(V)));
  static constexpr void write(Sentence& error, const TensorType&) {
    error << "Einsum \"" << text.view() << "\" of ";
    for (int k = 0; k < int(sizeof...(V)); ++k) (k ? error << ", " : error) << types[k];
    error << ": ";
    if (letters.fault) letters.explain(error);
    else error << "a product of two operands has more than " << max_rank << " axes; split the sum into two calls";
  }
};

/// x with its axes in another order.
template <Letters from, Letters to, class X>
constexpr auto in_order(const std::source_location& at, const X& x) {
  if constexpr (is_broken<X> || from == to) return x;
  else {
    constexpr Transpose::Config order = [] {
      Transpose::Config c{to.count, {}};
      for (int k = 0; k < to.count; ++k) c.order[k] = from.find(to[k]);
      return c;
    }();
    return apply<Transpose, order>(at, x);
  }
}
template <TensorType wanted, class X>
constexpr auto in_shape(const std::source_location& at, const X& x) {
  if constexpr (is_broken<X>) return x;
  else if constexpr (X::dims.same_shape(wanted)) return x;
  else return apply<Reshape, Reshape::to(wanted)>(at, x);
}
/// The sum over the letters that are not `kept`.
template <LetterSet kept, class T>
constexpr auto summed(const std::source_location& at, const T& t) {
  if constexpr (is_broken_term<T> || (T::letters.set() & ~kept) == 0) return t;
  else {
    constexpr ReduceAxes axes = [] {
      ReduceAxes c;
      for (int k = 0; k < T::letters.count; ++k)
        if (!(set_of(T::letters[k]) & kept)) c.mask |= 1 << k;
      return c;
    }();
    return term<T::letters.within(kept)>(apply<ReduceSum, axes>(at, t.value));
  }
}
/// The order of axes in which two of them come last.
constexpr Transpose::Config axes_with_last(int rank, int first, int second) {
  Transpose::Config c{rank, {}};
  int to = 0;
  for (int k = 0; k < rank; ++k)
    if (k != first && k != second) c.order[to++] = k;
  c.order[to++] = first, c.order[to] = second;
  return c;
}
/// The elements whose places along the axes of one letter are equal.
template <class T>
constexpr auto diagonal_of(const std::source_location& at, const T& t) {
  constexpr int second = T::letters.repeated();
  if constexpr (is_broken_term<T> || second < 0) return t;
  else {
    constexpr Letters letters = T::letters.with_last(T::letters.find(T::letters[second]), second);
    constexpr Transpose::Config order = axes_with_last(T::letters.count, T::letters.find(T::letters[second]), second);
    const auto last = apply<Transpose, order>(at, t.value);
    constexpr TensorType x = decltype(last)::dims;
    constexpr int extent = x.last();
    const auto flat = apply<Reshape, merged(x, x.rank - 2, x.rank)>(at, last);
    return diagonal_of(at, term<letters>(slice<-1, Part{0, extent * extent, extent + 1}>(flat, at)));
  }
}
/// Operand k without axes of extent 1 that others have with more elements, and with each letter once.
template <class Call, int k, class X>
constexpr auto operand_term(const std::source_location& at, const X& x) {
  constexpr Letters letters = Call::letters.operand[k];
  constexpr LetterSet stretched = Call::letters.stretched[k];
  constexpr TensorType narrow = without_axes(X::dims, letters, stretched);
  if constexpr (std::is_base_of_v<ParameterHandle, X>)
    return diagonal_of(at,
                       term<letters.without(stretched)>(in_shape<narrow>(at, ParameterView<X, typename X::shape>(x))));
  else return diagonal_of(at, term<letters.without(stretched)>(in_shape<narrow>(at, x)));
}

/// a b element by element, with axes for all letters of both; those of a come first.
template <class Call, class A, class B>
constexpr auto product_of(const std::source_location& at, const A& a, const B& b) {
  constexpr Letters la = A::letters, lb = B::letters, both = la + lb.without(la.set());
  if constexpr (both.count > max_rank) return term<Letters{}>(apply<Refused<Call>>(at, a.value));
  else {
    constexpr TensorType wide_a = with_axes(dims_of<A>, la, both);
    constexpr TensorType wide_b = with_axes(dims_of<B>, lb, both);
    const auto ordered = in_order<lb, both.within(lb.set())>(at, b.value);
    return term<both>(mul(in_shape<wide_a>(at, a.value), in_shape<wide_b>(at, ordered), at));
  }
}
/// The same, summed, as products of matrices.
template <Pairing pair, class A, class B>
constexpr auto matrix_product_of(const std::source_location& at, const A& a, const B& b) {
  constexpr Letters stack = pair.split + pair.stack, rows = pair.left.without(pair.split.set());
  constexpr bool first = pair.first_transposed(A::letters), second = pair.second_transposed(B::letters);
  constexpr Letters order_a = stack + (first ? pair.sum + rows : rows + pair.sum),
                    order_b = pair.stack + (second ? pair.right + pair.sum : pair.sum + pair.right);
  const auto x = in_order<A::letters, order_a>(at, a.value);
  const auto y = in_order<B::letters, order_b>(at, b.value);
  constexpr TensorType tx = decltype(x)::dims, ty = decltype(y)::dims,
                       matrix_x = as_matrices(tx, stack.count, first ? pair.sum.count : rows.count),
                       matrix_y = as_matrices(ty, pair.stack.count, second ? pair.right.count : pair.sum.count);
  const auto z =
      apply<MatMul, MatMul::transposed(first, second)>(at, in_shape<matrix_x>(at, x), in_shape<matrix_y>(at, y));
  if constexpr (is_broken<decltype(z)>) return term<Letters{}>(z);
  else {
    constexpr TensorType result = extents_of(
        pair.right, ty, order_b, extents_of(rows, tx, order_a, extents_of(stack, tx, order_a, {{}, 0, tx.dtype})));
    return term<stack + rows + pair.right>(in_shape<result>(at, z));
  }
}
/// The sum of products of two operands over the letters that are not `kept`.
template <class Call, LetterSet kept, class A, class B>
constexpr auto contracted(const std::source_location& at, const A& a, const B& b) {
  if constexpr (is_broken_term<A>) return a;
  else if constexpr (is_broken_term<B>) return b;
  else if constexpr (dims_of<B>.batched() && !dims_of<A>.batched())
    return contracted<Call, kept>(at, b, a);  // the axis that depends on n comes first
  else {
    const auto x = summed<(kept | B::letters.set())>(at, a);
    const auto y = summed<(kept | A::letters.set())>(at, b);
    using X = std::remove_const_t<decltype(x)>;
    using Y = std::remove_const_t<decltype(y)>;
    constexpr Pairing pair(X::letters, Y::letters, kept, dims_of<X>.batched());
    if constexpr (pair.is_matrix_product()) return matrix_product_of<pair>(at, x, y);
    else return summed<kept>(at, product_of<Call>(at, x, y));
  }
}
template <class Call, int k, class T>
constexpr auto contracted_from(const std::source_location&, const T& t) {
  return t;
}
template <class Call, int k, class T, class Next, class... More>
constexpr auto contracted_from(const std::source_location& at, const T& t, const Next& next, const More&... more) {
  constexpr LetterSet kept = Call::letters.needed_after(k);
  return contracted_from<Call, k + 1>(at, contracted<Call, kept>(at, t, operand_term<Call, k>(at, next)), more...);
}
template <FixedString text, class First, class... More>
constexpr auto einsum_of(const std::source_location& at, const First& first, const More&... more) {
  if constexpr (is_broken<First>) return first;
  else if constexpr ((is_broken<More> || ...)) return apply<Mul>(at, first, more...);
  else {
    using Call = EinsumCall<text, First, More...>;
    if constexpr (Call::letters.fault != Subscripts::fits) return apply<Refused<Call>>(at, first, more...);
    else {
      constexpr Letters result = Call::letters.result;
      const auto all =
          summed<result.set()>(at, contracted_from<Call, 1>(at, operand_term<Call, 0>(at, first), more...));
      if constexpr (is_broken_term<decltype(all)>) return all.value;
      else return in_order<std::remove_const_t<decltype(all)>::letters, result>(at, all.value);
    }
  }
}
}  // namespace detail

/// Sums of products, with a letter for each axis: `einsum<"bij,bjk->bik">(a, b)` is a stack of matrix products,
/// `einsum<"ii->i">(a)` a diagonal, `einsum<"...ij->...ji">(a)` a transposition.
///
/// text        letters of the operands, separated by commas, and of the result. Axes of one letter have one extent; an
///             extent of 1 is repeated. `...` stands for axes that broadcast. Without `->`, the axes of `...` come
///             first in the result; letters that occur once follow in alphabetical order. Blanks are ignored
/// operands    1 to 4 of one dtype, floating-point or integer
/// result      the sum over all letters that it lacks. An axis whose extent depends on n is its first one, or summed
/// derivative  of the operators it consists of
/// order       products of two operands at a time, from the left: as matmul where an axis is summed and others are not,
///             else as mul and reduce_sum
/// source      MindSpore's and PyTorch's einsum
template <FixedString text>
constexpr auto einsum(const Operand auto& a, std::source_location at = std::source_location::current()) {
  return detail::einsum_of<text>(at, a);
}
template <FixedString text>
constexpr auto einsum(const Operand auto& a, const Operand auto& b,
                      std::source_location at = std::source_location::current()) {
  return detail::einsum_of<text>(at, a, b);
}
template <FixedString text>
constexpr auto einsum(const Operand auto& a, const Operand auto& b, const Operand auto& c,
                      std::source_location at = std::source_location::current()) {
  return detail::einsum_of<text>(at, a, b, c);
}
template <FixedString text>
constexpr auto einsum(const Operand auto& a, const Operand auto& b, const Operand auto& c, const Operand auto& d,
                      std::source_location at = std::source_location::current()) {
  return detail::einsum_of<text>(at, a, b, c, d);
}

}  // namespace tenon::ops
