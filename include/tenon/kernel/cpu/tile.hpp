// The inner loop of matmul and convolution: a tile of a few rows and vectors that stays in registers while k runs.
#pragma once
#include <cstdint>
#include <type_traits>

#include <tenon/core/dtype.hpp>
#include <tenon/core/simd.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::kernel {

/// The type that products of T are added in. Integers go through unsigned 64-bit numbers, which wrap around.
template <class T>
using Compute = std::conditional_t<std::is_integral_v<Accumulator<T>>, std::uint64_t, Accumulator<T>>;

template <class T>
[[gnu::always_inline]] inline Compute<T> widened(T value) {
  if constexpr (std::is_integral_v<T>) return static_cast<Compute<T>>(static_cast<std::int64_t>(value));
  else return static_cast<Compute<T>>(value);
}
/// The one rounding at the end of a chain.
template <class T>
[[gnu::always_inline]] inline T narrowed(Compute<T> value) {
  return static_cast<T>(value);
}

/// Rows of a tile and vectors per row: as many accumulators as the registers hold beside the operands.
inline constexpr int tile_rows = simd_bytes == 64 ? 8 : 6;
inline constexpr int tile_vectors = 2;
/// A single row has too few chains to hide the latency of an addition: it takes more vectors.
inline constexpr int row_vectors = 8;
/// Packed rows are this far apart; also the side of the square that packing transposes.
inline constexpr int packed_rows = 8;

/// Columns of a tile for a number of rows, and the most that a kernel reads beyond the last column.
template <class A>
constexpr int tile_columns(long rows) {
  return simd_width<A> * (rows == 1 ? row_vectors : tile_vectors);
}

/// The narrowest tile. Half a vector of 512 bits, because some processors run two halves in the time of a whole one.
template <class A>
inline constexpr int tile_step = simd_bytes == 64 ? simd_width<A> / 2 : simd_width<A>;

/// Columns of the widest tile (of several rows) that `columns` columns fill, or of the narrowest.
template <class A>
constexpr long filled_columns(long columns) {
  return columns >= tile_columns<A>(2) ? tile_columns<A>(2) : columns >= simd_width<A> ? simd_width<A> : tile_step<A>;
}

/// Where step k of the chains finds its operands, in elements from the base of a and b.
struct Tap {
  std::int32_t a, b;
};

/// One tile: out[i][j] = chain of fmadd over the taps of a[row[i] + tap.a] * b[j + tap.b], from +0 or, to resume, from out.
/// All columns of a tile are read and written.
template <class A>
struct Tile {
  const Tap* taps;
  long count;
  const A* a;
  const std::int32_t* row;
  const A* b;
  A* out;
  long out_row;
  bool resume;
};

namespace detail {
template <class A, int Width, int Rows, int Vectors>
[[gnu::noinline]] inline void run_tile(const Tile<A>& tile) {
  using V = Simd<A, Width>;
  constexpr int width = V::width;
  V sum[Rows][Vectors];
  A* const out = tile.out;
  const long out_row = tile.out_row;
  if (tile.resume) {
#pragma GCC unroll 8
    for (int i = 0; i < Rows; ++i)
#pragma GCC unroll 8
      for (int j = 0; j < Vectors; ++j) sum[i][j] = V::load(out + i * out_row + j * width);
  } else {
#pragma GCC unroll 8
    for (int i = 0; i < Rows; ++i)
#pragma GCC unroll 8
      for (int j = 0; j < Vectors; ++j) sum[i][j] = V(A(0));
  }
  long row[Rows];
#pragma GCC unroll 8
  for (int i = 0; i < Rows; ++i) row[i] = tile.row[i];
  const A *const a = tile.a, *const b = tile.b;
  for (const Tap *tap = tile.taps, *end = tap + tile.count; tap != end; ++tap) {
    const A *ak = a + tap->a, *bk = b + tap->b;
    V bv[Vectors];
#pragma GCC unroll 8
    for (int j = 0; j < Vectors; ++j) bv[j] = V::load(bk + j * width);
#pragma GCC unroll 8
    for (int i = 0; i < Rows; ++i) {
      const V av(ak[row[i]]);
#pragma GCC unroll 8
      for (int j = 0; j < Vectors; ++j) sum[i][j] = fmadd(av, bv[j], sum[i][j]);
    }
  }
#pragma GCC unroll 8
  for (int i = 0; i < Rows; ++i)
#pragma GCC unroll 8
    for (int j = 0; j < Vectors; ++j) sum[i][j].store(out + i * out_row + j * width);
}

template <class A>
using TileKernel = void (*)(const Tile<A>&);
template <class A>
struct TileTable {
  TileKernel<A> rows[tile_rows];
};
template <class A, int Width, int Vectors, int... Row>
constexpr TileTable<A> tile_table(std::integer_sequence<int, Row...>) {
  return {{&run_tile<A, Width, Row + 1, Vectors>...}};
}
}  // namespace detail

/// Runs a tile of 1 .. tile_rows rows over at least `columns` columns and returns how many it covered: tile_step, one vector, or tile_columns.
template <class A>
inline long run_tile(const Tile<A>& tile, int rows, long columns) {
  constexpr int width = simd_width<A>, step = tile_step<A>;
  using Rows = std::make_integer_sequence<int, tile_rows>;
  static constexpr detail::TileTable<A> wide = detail::tile_table<A, width, tile_vectors>(Rows()), narrow = detail::tile_table<A, width, 1>(Rows()),
                                        half = detail::tile_table<A, step, 1>(Rows());
  if (columns <= width) {
    (columns <= step ? half.rows : narrow.rows)[rows - 1](tile);
    return columns <= step ? step : width;
  }
  constexpr long wide_columns = long{width} * tile_vectors;
  if (rows == 1 && columns > wide_columns) {
    detail::run_tile<A, width, 1, row_vectors>(tile);
    return long{width} * row_vectors;
  }
  wide.rows[rows - 1](tile);
  return wide_columns;
}

/// Border number i of `parts` equal parts of 0 .. total.
constexpr long border(long total, long parts, long i) { return total * i / parts; }
constexpr long ceil_div(long a, long b) { return (a + b - 1) / b; }
constexpr long round_up(long a, long b) { return ceil_div(a, b) * b; }

}  // namespace tenon::kernel
TENON_EXACT_END
