// Sums of computed terms, in the order of accumulation that reductions have.
#pragma once
#include <tenon/core/simd.hpp>
#include <tenon/kernel/cpu/blocks.hpp>
#include <tenon/kernel/cpu/reduce.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::kernel {

/// The larger of a and b, of numbers or of vectors. Where b is NaN, a is the larger.
struct Larger {
  template <class A>
  [[gnu::always_inline]] A operator()(A a, A b) const {
    return b > a ? b : a;
  }
  template <class A, int Width>
  [[gnu::always_inline]] Simd<A, Width> operator()(Simd<A, Width> a, Simd<A, Width> b) const {
    return max(b, a);
  }
};

/// combine_lanes, the same tree, in vectors; F takes numbers and Simd.
template <class A, int Lanes, class F>
[[gnu::always_inline]] inline A fold_lanes(const A (&lane)[Lanes], F f) {
  if constexpr (Lanes == 1) return lane[0];
  else if constexpr (Lanes < 8 || !std::is_floating_point_v<A>) {
    A half[Lanes / 2];
#pragma GCC unroll 4
    for (int l = 0; l < Lanes / 2; ++l) half[l] = f(lane[l], lane[l + Lanes / 2]);
    return fold_lanes(half, f);
  } else {
    constexpr int width = Lanes < simd_width<A> ? Lanes : simd_width<A>, vectors = Lanes / width;
    Simd<A, width> v[vectors];
#pragma GCC unroll 8
    for (int i = 0; i < vectors; ++i) v[i] = Simd<A, width>::load(lane + i * width);
#pragma GCC unroll 4
    for (int half = vectors / 2; half > 0; half /= 2)
#pragma GCC unroll 4
      for (int i = 0; i < half; ++i) v[i] = f(v[i], v[i + half]);
    return detail::fold_vector(v[0], f);
  }
}

/// Lanes that a row of so many elements, known to the compiler, reaches: the others would be combined as they began,
/// which changes nothing.
template <long count>
inline constexpr int lanes_reached = count < reduce_lanes ? int(std::bit_ceil(std::size_t(count))) : reduce_lanes;

/// Two sums of the same elements.
template <class A>
struct TwoSums {
  A first = 0, second = 0;
};

/// The sum of term(x[0]...) .. term(x[count - 1]...) over elements of one or more rows: term i goes to lane i mod 16 of
/// 16 partial sums, which a fixed tree combines. 16-bit floats come as float32.
template <class A, class Term, class... T>
inline A lane_sum(long count, Term term, const T*... x) {
  A lane[reduce_lanes]{};
  [&](detail::Operand<true, T>... operand) __attribute__((always_inline)) {
    const long whole = count - count % reduce_lanes;
    for (long i = 0; i < whole; i += reduce_lanes) {
      (operand.load(i), ...);
      for (int l = 0; l < reduce_lanes; ++l) lane[l] += term(operand.in_block(i, l)...);
    }
    for (long i = whole; i < count; ++i) lane[i - whole] += term(operand.one(i)...);
  }(detail::Operand<true, T>{x, {}}...);
  return fold_lanes(lane, Plus());
}
/// The same for two terms in one pass.
template <class A, class First, class Second, class... T>
inline TwoSums<A> lane_sums(long count, First first, Second second, const T*... x) {
  A lane[reduce_lanes]{}, other[reduce_lanes]{};
  [&](detail::Operand<true, T>... operand) __attribute__((always_inline)) {
    const long whole = count - count % reduce_lanes;
    for (long i = 0; i < whole; i += reduce_lanes) {
      (operand.load(i), ...);
      for (int l = 0; l < reduce_lanes; ++l)
        lane[l] += first(operand.in_block(i, l)...), other[l] += second(operand.in_block(i, l)...);
    }
    for (long i = whole; i < count; ++i)
      lane[i - whole] += first(operand.one(i)...), other[i - whole] += second(operand.one(i)...);
  }(detail::Operand<true, T>{x, {}}...);
  return {fold_lanes(lane, Plus()), fold_lanes(other, Plus())};
}

/// Columns that one loop over rows serves together, and rows that are summed before they join the total: sums over many
/// rows stay accurate, and the shape alone decides their order.
inline constexpr long column_block = 64, row_block = 64;

/// total[c] = sum over rows r of term(r, c), for c = 0 .. columns - 1 with columns <= column_block.
template <class A, class Term>
inline void column_sums(long rows, long columns, A* total, Term term) {
  for (long c = 0; c < columns; ++c) total[c] = 0;
  for (long first = 0; first < rows; first += row_block) {
    const long last = rows - first < row_block ? rows : first + row_block;
    A part[column_block]{};
    for (long r = first; r < last; ++r) {
      if (columns == column_block)  // a loop whose length the compiler knows becomes vectors
        for (long c = 0; c < column_block; ++c) part[c] += term(r, c);
      else
        for (long c = 0; c < columns; ++c) part[c] += term(r, c);
    }
    for (long c = 0; c < columns; ++c) total[c] += part[c];
  }
}

}  // namespace tenon::kernel
TENON_EXACT_END
