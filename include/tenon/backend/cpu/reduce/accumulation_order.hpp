// The accumulation order of reductions, for sums of computed terms.
#pragma once
#include <tenon/backend/cpu/elementwise/unrolled.hpp>
#include <tenon/backend/cpu/reduce/reduce.hpp>
#include <tenon/core/simd/simd.hpp>

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

/// Lanes that a row of this many elements, known to the compiler, reaches: the others would be combined as they began,
/// which changes nothing.
template <long count>
inline constexpr int lanes_reached = count < reduce_lanes ? int(std::bit_ceil(std::size_t(count))) : reduce_lanes;

/// Two sums of the same elements.
template <class A>
struct TwoSums {
  A first = 0, second = 0;
};

namespace detail {
// sums[k] = the sum over pieces of a row of what piece(begin, count, sums) gives.
template <class A, int Sums, class Piece>
[[gnu::always_inline]] inline void add_pieces(long count, A (&sums)[Sums], Piece piece) {
  SumTree<A, Sums> tree;
  for (long i = 0; i < count; i += lane_piece) {
    if (i > 0) tree.add(sums);
    piece(i, count - i < lane_piece ? count - i : lane_piece, sums);
  }
  tree.finish(sums);
}
template <class A, class Term, class... T>
[[gnu::noinline]] A long_lane_sum(long count, Term term, const T*... x);
template <class A, class First, class Second, class... T>
[[gnu::noinline]] TwoSums<A> long_lane_sums(long count, First first, Second second, const T*... x);
}  // namespace detail

/// The sum of term(x[0]...) .. term(x[count - 1]...) over elements of one or more rows: term i goes to lane i mod 16 of
/// 16 partial sums, which a fixed tree combines; pieces of 1024 terms are added up as by SumTree. 16-bit floats come as
/// float32.
template <class A, class Term, class... T>
inline A lane_sum(long count, Term term, const T*... x) {
  if (count > lane_piece) return detail::long_lane_sum<A>(count, term, x...);
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
  if (count > lane_piece) return detail::long_lane_sums<A>(count, first, second, x...);
  constexpr int width = simd_width<A> < reduce_lanes ? simd_width<A> : reduce_lanes;
  A lane[reduce_lanes]{}, other[reduce_lanes]{};
  [&](detail::Operand<true, T>... operand) __attribute__((always_inline)) {
    const long whole = count - count % reduce_lanes;
    for (long i = 0; i < whole; i += reduce_lanes) {
      (operand.load(i), ...);
      // two loops over vectors, unrolled by force: g++ would keep the lanes of the second one in memory
#pragma GCC unroll 16
      for (int v = 0; v < reduce_lanes; v += width)
        for (int l = v; l < v + width; ++l) lane[l] += first(operand.in_block(i, l)...);
#pragma GCC unroll 16
      for (int v = 0; v < reduce_lanes; v += width)
        for (int l = v; l < v + width; ++l) other[l] += second(operand.in_block(i, l)...);
    }
    for (long i = whole; i < count; ++i)
      lane[i - whole] += first(operand.one(i)...), other[i - whole] += second(operand.one(i)...);
  }(detail::Operand<true, T>{x, {}}...);
  return {fold_lanes(lane, Plus()), fold_lanes(other, Plus())};
}

namespace detail {
template <class A, class Term, class... T>
A long_lane_sum(long count, Term term, const T*... x) {
  A sum[1];
  add_pieces(count, sum, [&](long i, long own, A* to) { *to = lane_sum<A>(own, term, (x + i)...); });
  return *sum;
}
template <class A, class First, class Second, class... T>
TwoSums<A> long_lane_sums(long count, First first, Second second, const T*... x) {
  A sum[2];
  add_pieces(count, sum, [&](long i, long own, A* to) {
    const auto sums = lane_sums<A>(own, first, second, (x + i)...);
    to[0] = sums.first, to[1] = sums.second;
  });
  return {sum[0], sum[1]};
}
}  // namespace detail

/// Columns that one loop over rows serves together.
inline constexpr long column_block = 64;

/// total[k][c] = sum over rows r of term k (r, c), for c = 0 .. columns - 1 with columns <= column_block: chains of 32
/// rows, added up as by SumTree.
template <class A, class... Term>
inline void column_sums(long rows, long columns, A* const (&total)[sizeof...(Term)], Term... term) {
  constexpr int sums = sizeof...(Term);
  SumTree<A, sums * column_block> tree;
  for (long first = 0;;) {
    const long last = rows - first > sum_chain ? first + sum_chain : rows;
    A part[sums][column_block]{};
    for (long r = first; r < last; ++r)
      for_each_unrolled(columns, [&](long c) __attribute__((always_inline)) {
        int k = 0;
        ((part[k][c] += term(r, c), ++k), ...);
      });
    first = last;
    if (last < rows) {
      tree.add_here(part[0], sums * column_block);
      continue;
    }
    if (!tree.empty()) tree.finish_here(part[0], sums * column_block);
    for (int k = 0; k < sums; ++k)
      for (long c = 0; c < columns; ++c) total[k][c] = part[k][c];
    return;
  }
}

/// A mean, and the sum of squared distances from it.
template <class A>
struct Moments {
  A mean, deviation;
};
/// Those of `count` elements, from a mean that was rounded on the way: what the elements' distances from it add up to,
/// and what the distances' squares do.
template <class A>
TENON_DEVICE inline Moments<A> corrected_moments(A rounded, A distances, A squares, A count) {
  A rest = distances * (A(1) / count);
  if (!(rest - rest == 0)) rest = 0;  // an infinite mean stays one
  const A deviation = squares - distances * rest;
  return {rounded + rest, deviation < 0 ? A(0) : deviation};
}
namespace detail {
// What the elements of a row up to lane_piece lack of `mean`, and what the squares of that add up to.
template <class A, class T>
[[gnu::always_inline]] inline TwoSums<A> distances(const T* x, long count, A mean) {
  using V = ReduceVector<A>;
  constexpr int vectors = reduce_lanes / V::width;
  V distances[vectors], squares[vectors];
#pragma GCC unroll 8
  for (int v = 0; v < vectors; ++v) distances[v] = squares[v] = V(A(0));
  const auto add = [&](const auto* from) __attribute__((always_inline)) {
#pragma GCC unroll 8
    for (int v = 0; v < vectors; ++v) {
      const V distance = load_lanes<V::width, A>(from + v * V::width) - V(mean);
      distances[v] = distances[v] + distance;
      squares[v] = fmadd(distance, distance, squares[v]);
    }
  };
  const T* const end = x + (count - count % reduce_lanes);
  for (const T* from = x; from != end; from += reduce_lanes) add(from);
  if (const long left = count % reduce_lanes; left > 0) {
    A rest[reduce_lanes];
    for (int l = 0; l < reduce_lanes; ++l) rest[l] = l < left ? static_cast<A>(end[l]) : mean;
    add(rest);
  }
  return {fold_parts<A>(distances, Plus()), fold_parts<A>(squares, Plus())};
}
template <class A, class T>
[[gnu::noinline]] TwoSums<A> long_distances(const T* x, long count, A mean) {
  A sum[2];
  add_pieces(count, sum, [&](long i, long own, A* to) {
    const auto sums = distances<A>(x + i, own, mean);
    to[0] = sums.first, to[1] = sums.second;
  });
  return {sum[0], sum[1]};
}
}  // namespace detail
/// Those of a row, in the order of lane_sum.
template <class A, class T>
inline Moments<A> row_moments(const T* x, long count) {
  const A mean = lane_sum<A>(count, [](auto value) { return static_cast<A>(value); }, x) / static_cast<A>(count);
  const TwoSums<A> sums =
      count > lane_piece ? detail::long_distances<A>(x, count, mean) : detail::distances<A>(x, count, mean);
  return corrected_moments(mean, sums.first, sums.second, static_cast<A>(count));
}

}  // namespace tenon::kernel
TENON_EXACT_END
