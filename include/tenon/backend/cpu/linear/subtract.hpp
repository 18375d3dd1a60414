// Rows of doubles minus products, a tile of them in registers: what the elimination of a matrix spends its time on.
#pragma once
#include <tenon/backend/cpu/gemm/register_tile.hpp>
#include <tenon/core/simd/simd.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::kernel {

/// Rows are padded to a multiple of this many doubles, so that kernels work with whole vectors. No result depends on
/// the padding.
inline constexpr long padded_doubles = 8;

/// What is subtracted from several rows: from row t factor[t * between + k * step] times the row `rows + k * row`, for
/// all k in ascending order.
struct Subtrahend {
  const double* factor;
  long between, step;
  const double* rows;
  long row, count;

  Subtrahend of_target(long t) const { return {factor + t * between, between, step, rows, row, count}; }
  Subtrahend at_column(long j) const { return {factor, between, step, rows + j, row, count}; }
};

/// One chain that continues the element, or a chain of its own from 0, which is then added to the element.
enum class Chain : int { continues, apart };

/// The largest tile: three vectors of as many rows as the registers hold.
struct SubtractTile {
#if defined(__AVX512F__) || defined(__aarch64__)
  static constexpr int targets = 8;
#else
  static constexpr int targets = 4;
#endif
  static constexpr int vectors = 3, columns = vectors * Simd<double>::width;
};

namespace detail {
/// `targets` rows, `distance` apart, of `vectors` vectors. The rows of s are side by side and have the other sign.
template <int targets, int vectors>
[[gnu::noinline]] void subtract_tile(double* to, long distance, const Subtrahend& s, Chain chain) {
  using V = Simd<double>;
  const auto place = [=](int t, int v) __attribute__((always_inline)) { return to + t * distance + v * V::width; };
  RegisterTile<V, targets, vectors> sums;
  if (chain == Chain::continues) sums.load(place);
  else sums.begin();
  const double *factor = s.factor, *rows = s.rows;
  for (long k = 0; k < s.count; ++k, factor += s.step, rows += vectors * V::width)
    sums.multiply([=](int t) __attribute__((always_inline)) { return V(factor[t * s.between]); },
                  [=](int v) __attribute__((always_inline)) { return V::load(rows + v * V::width); });
  if (chain == Chain::apart) sums.add_to(place);
  sums.store(place);
}
template <int vectors>
void subtract_strip(double* to, long targets, long distance, Subtrahend s, Chain chain, double* room) {
  using V = Simd<double>;
  constexpr int most = SubtractTile::targets;
  for (long k = 0; k < s.count; ++k)
#pragma GCC unroll 8
    for (int v = 0; v < vectors; ++v)
      (-V::load(s.rows + k * s.row + v * V::width)).store(room + (k * vectors + v) * V::width);
  s.rows = room;
  long t = 0;
  for (; t + most <= targets; t += most)
    subtract_tile<most, vectors>(to + t * distance, distance, s.of_target(t), chain);
  if (t + most / 2 <= targets) {
    subtract_tile<most / 2, vectors>(to + t * distance, distance, s.of_target(t), chain);
    t += most / 2;
  }
  for (; t < targets; ++t) subtract_tile<1, vectors>(to + t * distance, distance, s.of_target(t), chain);
}
}  // namespace detail

/// Subtracts s from `targets` rows, the first of which is `to`, `distance` apart, of `width` elements and their
/// padding. `room` for SubtractTile::columns of the rows of s.
inline void subtract(double* to, long targets, long distance, long width, const Subtrahend& s, Chain chain,
                     double* room) {
  using Tile = SubtractTile;
  if (s.count <= 0 || targets <= 0) return;
  long j = 0;
  for (; j + Tile::columns <= width; j += Tile::columns)
    detail::subtract_strip<Tile::vectors>(to + j, targets, distance, s.at_column(j), chain, room);
  for (; j < width; j += Simd<double>::width)
    detail::subtract_strip<1>(to + j, targets, distance, s.at_column(j), chain, room);
}

/// The same of one row, whose chains continue.
inline void subtract(double* to, long width, const Subtrahend& s) {
  using V = Simd<double>;
  constexpr int together = 6;
  long j = 0;
  for (; j + together * V::width <= width; j += together * V::width) {
    V sum[together];
#pragma GCC unroll 8
    for (int v = 0; v < together; ++v) sum[v] = V::load(to + j + v * V::width);
    for (long k = 0; k < s.count; ++k) {
      const V minus(-s.factor[k * s.step]);
#pragma GCC unroll 8
      for (int v = 0; v < together; ++v) sum[v] = fmadd(minus, V::load(s.rows + k * s.row + j + v * V::width), sum[v]);
    }
#pragma GCC unroll 8
    for (int v = 0; v < together; ++v) sum[v].store(to + j + v * V::width);
  }
  for (; j < width; j += V::width) {
    V sum = V::load(to + j);
    for (long k = 0; k < s.count; ++k) sum = fmadd(V(-s.factor[k * s.step]), V::load(s.rows + k * s.row + j), sum);
    sum.store(to + j);
  }
}

}  // namespace tenon::kernel
TENON_EXACT_END
