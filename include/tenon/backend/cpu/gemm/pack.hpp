// Packing: copies a strided matrix into rows of the accumulator's type, and such rows back into a strided matrix.
#pragma once
#include <tenon/backend/cpu/gemm/tile.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::kernel {

namespace detail {
// n >= Width elements; the last vector overlaps the one before it.
template <int Width, class A>
[[gnu::always_inline]] inline void copy_vectors(const A* from, A* to, long n) {
  using V = Simd<A, Width>;
  for (long j = 0; j + Width < n; j += Width) V::load(from + j).store(to + j);
  V::load(from + n - Width).store(to + n - Width);
}
}  // namespace detail

/// True where vectors of From become To: elements that only move, 16-bit floats and float32, pairs of bfloat16 out of
/// single ones.
template <class From, class To>
inline constexpr bool moves_in_lanes = (is_half<From> && std::is_same_v<To, float>) ||
                                       (std::is_same_v<From, float> && is_half<To>) || std::is_same_v<From, To>;
/// Elements of From in one lane that becomes an element of To.
template <class From, class To>
inline constexpr int elements_per_lane = std::is_same_v<From, bfloat16> && std::is_same_v<To, Bfloat16Pair> ? 2 : 1;

/// Width lanes to be stored as To: float, pairs, or what does not change.
template <int Width, class To, class From>
[[gnu::always_inline]] inline auto load_lanes(const From* from) {
  if constexpr (elements_per_lane<From, To> == 2)
    return tenon::detail::same_lanes<Simd<Bfloat16Pair, Width>>(tenon::detail::load_bits<2 * Width>(from));
  else if constexpr (is_half<From> || is_half<To>) return load_float<Width>(from);
  else return Simd<From, Width>::load(from);
}
template <class A, int Width, class To>
[[gnu::always_inline]] inline void store_lanes(Simd<A, Width> lanes, To* to) {
  if constexpr (is_half<To>) store_float(lanes, to);
  else lanes.store(to);
}

/// to[j] = from[j] for n elements that do not overlap, widened or rounded once.
template <class From, class To>
[[gnu::always_inline]] inline void copy_row(const From* from, To* to, long n) {
  long j = 0;
  if constexpr (std::is_same_v<From, To>) {
    constexpr int width = simd_width<To>;  // short rows are common in images
    if (n >= width) return detail::copy_vectors<width>(from, to, n);
    if constexpr (width > 8)
      if (n >= 8) return detail::copy_vectors<8>(from, to, n);
    if constexpr (width > 4)
      if (n >= 4) return detail::copy_vectors<4>(from, to, n);
    for (; j < n; ++j) to[j] = from[j];
  } else {
    if constexpr (moves_in_lanes<From, To>) {
      constexpr int width = simd_width<float>;
      for (; j + width <= n; j += width) store_lanes(load_lanes<width, To>(from + j), to + j);
      if constexpr (width > 8)
        if (j + 8 <= n) store_lanes(load_lanes<8, To>(from + j), to + j), j += 8;
    }
    if constexpr (std::is_same_v<To, ProductSum<From>>)
      for (; j < n; ++j) to[j] = widened(from[j]);
    else
      for (; j < n; ++j) to[j] = narrowed<To>(from[j]);
  }
}

/// to[i * to_row + j] = from[i * from_row + j * from_column] for rows x columns elements, converted; columns up to
/// `padded` become 0.
template <class From, class To>
[[gnu::noinline]] void copy_matrix(const From* from, long from_row, long from_column, To* to, long to_row, long rows,
                                   long columns, long padded);

/// Sets n elements to zero.
template <class A>
inline void clear(A* to, long n) {
  for (; n >= simd_width<A>; n -= simd_width<A>, to += simd_width<A>) Simd<A>(A(0)).store(to);
  for (; n > 0; --n) *to++ = A(0);
}

template <class To, class From>
[[gnu::always_inline]] inline To one_lane(const From* from) {
  if constexpr (elements_per_lane<From, To> == 2) return Bfloat16Pair(from[0].bits) | Bfloat16Pair(from[1].bits) << 16;
  else return static_cast<To>(*from);
}

namespace detail {
// The square of Side rows from from[0], from[from_row], ... transposed. Joining halves of rows while loading is the
// coarsest of the exchanges that a transposition consists of, and costs no shuffle. Rows from `rows` on are zero and
// not read.
template <class To, class From, class A, int Side>
[[gnu::always_inline]] inline void load_transposed(const From* from, long from_row, long rows,
                                                   Simd<A, Side> (&square)[Side]) {
  using V = Simd<A, Side>;
  if constexpr (Side >= 4) {
    if (rows >= Side) {
      constexpr long half = Side / 2, half_row = half * elements_per_lane<From, To>;
#pragma GCC unroll 8
      for (int s = 0; s < half; ++s) {
        const From *const upper = from + s * from_row, *const lower = from + (s + half) * from_row;
        square[s] = joined(load_lanes<half, To>(upper), load_lanes<half, To>(lower));
        square[s + half] = joined(load_lanes<half, To>(upper + half_row), load_lanes<half, To>(lower + half_row));
      }
      transpose_blocks<Side / 2>(square);
      return;
    }
  }
#pragma GCC unroll 8
  for (int s = 0; s < Side; ++s) square[s] = s < rows ? load_lanes<Side, To>(from + s * from_row) : V(A(0));
  transpose_lanes(square);
}

// to[j * to_row + i] = from[i * from_row + j] by squares, where from has `rows` rows, and to is zero for i from rows to
// padded - 1. What squares do not cover goes one by one. Of pairs, j counts pairs.
template <class From, class To>
inline void transpose_copy(const From* from, long from_row, To* to, long to_row, long rows, long columns, long padded) {
  using A = typename decltype(load_lanes<2, To>(from))::Element;
  constexpr int side = simd_width<A> < packed_rows ? simd_width<A> : packed_rows, step = elements_per_lane<From, To>;
  const long height = rows < padded ? padded : rows, by_squares = height / side * side, whole = columns / side * side;
  for (long i = 0; i < by_squares; i += side) {
    const long left = rows - i;
    for (long j = 0; j < whole; j += side) {
      Simd<A, side> square[side];
      load_transposed<To>(from + i * from_row + j * step, from_row, left, square);
#pragma GCC unroll 8
      for (int s = 0; s < side; ++s) store_lanes(square[s], to + (j + s) * to_row + i);
    }
    for (long j = whole; j < columns; ++j)
      for (long s = 0; s < side; ++s)
        to[j * to_row + i + s] = s < left ? one_lane<To>(from + (i + s) * from_row + j * step) : To(0);
  }
  for (long j = 0; j < columns; ++j)
    for (long i = by_squares; i < height; ++i)
      to[j * to_row + i] = i < rows ? one_lane<To>(from + i * from_row + j * step) : To(0);
}
}  // namespace detail

#if TENON_DEFINES
template <class From, class To>
void copy_matrix(const From* from, long from_row, long from_column, To* to, long to_row, long rows, long columns,
                 long padded) {
  if constexpr (moves_in_lanes<From, To>)
    if (from_row == 1 && from_column != 1)
      return detail::transpose_copy(from, from_column, to, to_row, columns, rows, padded);
  for (long i = 0; i < rows; ++i) {
    To* const row = to + i * to_row;
    if (from_column == 1) copy_row(from + i * from_row, row, columns);
    else
      for (long j = 0; j < columns; ++j) copy_row(from + i * from_row + j * from_column, row + j, 1);
    for (long j = columns; j < padded; ++j) row[j] = To(0);
  }
}

/// The pair of *first and *second, or of *first and 0 where there is no second.
[[gnu::always_inline]] inline Bfloat16Pair one_pair(const bfloat16* first, const bfloat16* second) {
  return Bfloat16Pair(first->bits) | (second ? Bfloat16Pair(second->bits) << 16 : 0);
}
/// Width such pairs of neighbours.
template <int Width>
[[gnu::always_inline]] inline Simd<Bfloat16Pair, Width> load_pairs(const bfloat16* first, const bfloat16* second) {
  using Bits = Simd<std::uint16_t, Width>;
  const Bits a = tenon::detail::load_bits<Width>(first),
             b = second ? tenon::detail::load_bits<Width>(second) : Bits(std::uint16_t(0));
  constexpr auto lane_of = [](int lane) { return lane / 2 + (lane & 1) * Width; };
  return tenon::detail::same_lanes<Simd<Bfloat16Pair, Width>>(
      tenon::detail::shuffled<Simd<std::uint16_t, 2 * Width>>(a, b, tenon::detail::Order<2 * Width, lane_of>()));
}

/// to[j] = the pair of first[j] and second[j], or of first[j] and 0 where there is no second.
[[gnu::always_inline]] inline void pack_short_pairs(const bfloat16* first, const bfloat16* second, long lanes,
                                                    Bfloat16Pair* to) {
  const auto pairs = [&]<int width>(long j, std::integral_constant<int, width>) __attribute__((always_inline)) {
    load_pairs<width>(first + j, second ? second + j : nullptr).store(to + j);
  };
  constexpr std::integral_constant<int, (simd_width<float> < 8 ? simd_width<float> : 8)> eight;
  constexpr std::integral_constant<int, 4> four;
  if (lanes >= eight) {
    for (long j = 0; j + eight < lanes; j += eight) pairs(j, eight);
    pairs(lanes - eight, eight);  // overlaps the ones before
  } else if (lanes >= 4) {
    pairs(0, four);
    pairs(lanes - 4, four);
  } else
    for (long j = 0; j < lanes; ++j) to[j] = one_pair(first + j, second ? second + j : nullptr);
}
/// The same for long rows; zero for j from lanes to padded - 1.
inline void pack_pairs(const bfloat16* first, const bfloat16* second, long lanes, long padded, Bfloat16Pair* to) {
  long j = 0;
  const auto blocks = [&]<int width>(std::integral_constant<int, width>) __attribute__((always_inline)) {
    for (; j + 2 * width <= lanes; j += 2 * width) {
      using Bits = Simd<std::uint16_t, 2 * width>;
      const Bits a = tenon::detail::load_bits<2 * width>(first + j),
                 b = second ? tenon::detail::load_bits<2 * width>(second + j) : Bits(std::uint16_t(0));
      tenon::detail::same_lanes<Simd<Bfloat16Pair, width>>(interleaved(a, b, false)).store(to + j);
      tenon::detail::same_lanes<Simd<Bfloat16Pair, width>>(interleaved(a, b, true)).store(to + j + width);
    }
  };
  blocks(std::integral_constant<int, simd_width<float>>());
  if constexpr (simd_width<float> > 8) blocks(std::integral_constant<int, 8>());
  if constexpr (simd_width<float> > 4) blocks(std::integral_constant<int, 4>());
  for (; j < lanes; ++j) to[j] = one_pair(first + j, second ? second + j : nullptr);
  for (; j < padded; ++j) to[j] = 0;
}
/// The same for first[2 * j] and second[2 * j]. `before`, `after`: the element before the first one, or after the last
/// one, may be read.
inline void pack_every_second(const bfloat16* first, const bfloat16* second, long lanes, bool before, bool after,
                              Bfloat16Pair* to) {
  long j = 0;
  const auto pairs = [&]<int width>(long at, std::integral_constant<int, width>) __attribute__((always_inline)) {
    using Pairs = Simd<Bfloat16Pair, width>;
    const auto two = [&](const bfloat16* from) {
      return load_lanes<width, Bfloat16Pair>(from + 2 * at - before).lanes;
    };
    Pairs pair(before ? two(first) >> 16 : two(first) & 0xffffu);
    if (second) pair.lanes |= before ? two(second) & 0xffff0000u : two(second) << 16;
    pair.store(to + at);
  };
  constexpr std::integral_constant<int, (simd_width<float> < 8 ? simd_width<float> : 8)> eight;
  constexpr std::integral_constant<int, 4> four;
  const long whole = before || after ? lanes : lanes - 1;
  if (whole >= eight) {
    for (; j + eight < whole; j += eight) pairs(j, eight);
    pairs(whole - eight, eight), j = whole;
  } else if (whole >= 4) {
    pairs(0, four);
    pairs(whole - 4, four), j = whole;
  }
  for (; j < lanes; ++j) to[j] = one_pair(first + 2 * j, second ? second + 2 * j : nullptr);
}

/// to[j] = sums[j], rounded once. The sums are fresh: none is denormal.
template <class T>
inline void round_sums(const ProductSum<T>* sums, T* to, long n) {
  long j = 0;
  if constexpr (std::is_same_v<T, bfloat16>) {
    constexpr int width = simd_width<float>;
    for (; j + width <= n; j += width) store_sums(Simd<float, width>::load(sums + j), to + j);
  }
  copy_row(sums + j, to + j, n - j);
}
#endif  // TENON_DEFINES

}  // namespace tenon::kernel
TENON_EXACT_END
