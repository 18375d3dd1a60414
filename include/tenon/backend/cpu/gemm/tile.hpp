// The microkernel of matmul and convolution: a tile of a few rows and vectors that stays in registers while k runs.
#pragma once
#include <cstdint>
#include <type_traits>

#include <tenon/backend/cpu/gemm/register_tile.hpp>
#include <tenon/backend/order.hpp>
#include <tenon/core/dtype.hpp>
#include <tenon/core/simd/simd_half.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::kernel {

/// The type that products of T are added in. Integers go through unsigned 64-bit numbers, which wrap around.
template <class T>
using ProductSum = std::conditional_t<std::is_integral_v<Accumulator<T>>, std::uint64_t, Accumulator<T>>;

/// The type of packed operands of products of T: bfloat16 lies in pairs of two steps, which multiply in one
/// instruction. A step that has no partner gets a zero.
template <class T>
using Packed = std::conditional_t<std::is_same_v<T, bfloat16>, Bfloat16Pair, ProductSum<T>>;
template <class T>
inline constexpr int steps_per_unit = std::is_same_v<T, bfloat16> ? 2 : 1;

template <class T>
[[gnu::always_inline]] TENON_DEVICE inline ProductSum<T> widened(T value) {
  if constexpr (std::is_integral_v<T>) return static_cast<ProductSum<T>>(static_cast<std::int64_t>(value));
  else return static_cast<ProductSum<T>>(value);
}
/// The one rounding at the end of a sum.
template <class T>
[[gnu::always_inline]] TENON_DEVICE inline T narrowed(ProductSum<T> value) {
  return static_cast<T>(value);
}

/// Rows of a tile and vectors per row: as many accumulators as the registers (32 or 16) hold beside the operands.
inline constexpr int tile_rows = simd_bytes == 64 ? 8 : 6;
inline constexpr int tile_vectors = simd_bytes == 64 ? 3 : 2;
/// A single row has too few chains to hide the latency of an addition: it takes more vectors.
inline constexpr int row_vectors = 8;
/// Packed rows are this far apart; also the side of the square that packing transposes.
inline constexpr int packed_rows = 8;

/// Columns of the widest tile for a number of rows, and the most that a kernel reads beyond the last column.
template <class A>
constexpr int tile_columns(long rows) {
  return simd_width<A> * (rows == 1 ? row_vectors : tile_vectors);
}

/// The narrowest tile. Half a vector of 512 bits, because some processors run two halves in the time of a whole one.
template <class A>
inline constexpr int tile_step = simd_bytes == 64 ? simd_width<A> / 2 : simd_width<A>;

/// Columns of the tile (of several rows) that run_tile takes for `columns` columns.
template <class A>
constexpr long covered_columns(long columns) {
  if (columns <= tile_step<A>) return tile_step<A>;
  const long vectors = (columns + simd_width<A> - 1) / simd_width<A>;
  // two even tiles: a narrow one is slow
  if (vectors == tile_vectors + 1) return simd_width<A> * ((tile_vectors + 2) / 2);
  return simd_width<A> * (vectors < tile_vectors ? vectors : tile_vectors);
}
/// Columns of the widest tile (of several rows) that `columns` columns fill, or of the narrowest.
template <class A>
constexpr long filled_columns(long columns) {
  return columns < simd_width<A> ? tile_step<A> : covered_columns<A>(columns / simd_width<A> * simd_width<A>);
}

/// Where step k of the chains finds its operands, in elements from the base of a and b.
struct Tap {
  std::int32_t a, b;
};

/// One tile: out[i][j] = chain of fmadd over the taps of a[row[i] + tap.a] * b[j + tap.b], from +0 or, to resume, from
/// out; to add, out + this chain; with plus_zero, where may_add_zeros<A>, 0 + this chain, which is not -0. All columns
/// of a tile are read and written. Packed operands P have the size of the sums' type A.
template <class A, class P = A>
struct Tile {
  const Tap* taps;
  long count;
  const P* a;
  const std::int32_t* row;
  const P* b;
  A* out;
  long out_row;
  bool resume, add = false, plus_zero = false;
};

/// For convolutions as products, which programs with wide vectors do without.
template <class A>
inline constexpr bool may_add_zeros = std::is_same_v<A, float> && simd_bytes < 64;

/// Border number i of `parts` equal parts of 0 .. total.
constexpr long border(long total, long parts, long i) { return total * i / parts; }
constexpr long ceil_div(long a, long b) { return (a + b - 1) / b; }
constexpr long round_up(long a, long b) { return ceil_div(a, b) * b; }

#if TENON_DEFINES
namespace detail {
// A tile that packs its columns of B on the way: step k is from[k * from_row] on, and goes to `to` where its tap says.
// Then stores are all that packing costs, in a loop that waits for its multiplications.
template <class A, class P>
struct PackingTile : Tile<A, P> {
  const P* from;
  long from_row;
  P* to;
};
template <class A, int Columns>
alignas(64) inline constexpr A zero_sums[Columns]{};

// A step of pairs where no instruction multiplies them: products of their first (0) or second (1) elements. One half
// after the other needs the registers of one half only.
template <int which, int Width, int Rows, int Vectors>
[[gnu::always_inline]] inline void add_products(RegisterTile<Simd<float, Width>, Rows, Vectors>& sums,
                                                const Bfloat16Pair* const (&row)[Rows], long ak,
                                                const Bfloat16Pair* bk) {
  using Pairs = Simd<Bfloat16Pair, Width>;
  asm volatile("" : "+r"(bk), "+r"(ak));  // or the compiler keeps the operands of both halves
  Simd<float, Width> bv[Vectors];
#pragma GCC unroll 8
  for (int j = 0; j < Vectors; ++j) bv[j] = pair_element<which>(Pairs::load(bk + j * Width));
#pragma GCC unroll 8
  for (int i = 0; i < Rows; ++i) {
    Bfloat16Pair pair;
    __builtin_memcpy(&pair, row[i] + ak, sizeof pair);  // two elements of another type, if they are not packed
    const auto av = broadcast_element<which, Width>(pair);
#pragma GCC unroll 8
    for (int j = 0; j < Vectors; ++j) fmadd_in_place(av, bv[j], sums.sum[i][j]);
  }
}

template <class A, class P, int Width, int Rows, int Vectors, class OneTile = Tile<A, P>>
[[gnu::noinline]] inline void run_tile(const OneTile& tile) {
  constexpr bool packs = std::is_same_v<OneTile, PackingTile<A, P>>;
  static_assert(sizeof(A) == sizeof(P));
  using Operand = Simd<P, Width>;
  RegisterTile<Simd<A, Width>, Rows, Vectors> sums;
  A* const out = tile.out;
  const long out_row = tile.out_row;
  const auto place = [=](int i, int j) __attribute__((always_inline)) { return out + i * out_row + j * Width; };
  if (tile.resume) sums.load(place);
  else sums.begin();
  // An address per row, so that a step is an index beside it and no addition per row. The asm keeps it in a register:
  // g++ would add row[i] in each step again.
  const P* row[Rows];
#pragma GCC unroll 8
  for (int i = 0; i < Rows; ++i) {
    row[i] = tile.a + tile.row[i];
    asm("" : "+r"(row[i]));
  }
  const P* b = tile.b;
  if constexpr (packs) b = tile.from;
  for (const Tap *tap = tile.taps, *end = tap + tile.count; tap != end; ++tap) {
    const long ak = tap->a;
    const P* const bk = packs ? b : b + tap->b;
    [[maybe_unused]] P* to = nullptr;
    if constexpr (packs) to = tile.to + tap->b;
    if constexpr (std::is_same_v<P, Bfloat16Pair> && !multiplies_pairs<Width>) {
      add_products<1>(sums, row, ak, bk);
      add_products<0>(sums, row, ak, bk);
      continue;
    }
    sums.multiply(
        [&](int i) __attribute__((always_inline)) {
          P value;
          if constexpr (std::is_same_v<A, P>) value = row[i][ak];
          else __builtin_memcpy(&value, row[i] + ak, sizeof(P));  // two elements of another type, if not packed
          return Operand(value);
        },
        [=](int j) __attribute__((always_inline)) {
          const auto own = Operand::load(bk + j * Width);
          if constexpr (packs) own.store(to + j * Width);
          return own;
        });
    if constexpr (packs) {
      // The columns of the panel after the next one go to the second level, which no processor fetches by itself where
      // each step is a page of its own.
      constexpr int panel = Vectors * Width;
      static_assert(panel * sizeof(P) <= 64);  // then its last element is in the only line that is new
      __builtin_prefetch(b + 3 * panel - 1, 0, 2);
      b += tile.from_row;
    }
  }
  if (!tile.add) {
    if constexpr (may_add_zeros<A>)
      if (tile.plus_zero) sums.add_to([](int, int j) { return zero_sums<A, tile_columns<A>(1)> + j * Width; });
  } else sums.add_to(place);
  sums.store(place);
}

// Rows that one kernel does of 1 .. tile_rows. Where a tile can have 8, 5 and 7 take two kernels, of 3 and 2 or 4 and 3
// rows, which have chains enough beside three vectors: so a program carries less code.
constexpr int rows_at_once(int rows) { return tile_rows < 8 ? rows : rows == 5 ? 3 : rows == 7 ? 4 : rows; }

template <class A, class P>
using TileKernel = void (*)(const Tile<A, P>&);
// Half a vector, then 1 .. tile_vectors vectors; for each 1 .. tile_rows rows.
template <class A, class P>
struct TileTable {
  TileKernel<A, P> half[tile_rows], whole[tile_vectors][tile_rows];
};
template <class A, class P, int... Row, int... Vectors>
constexpr TileTable<A, P> tile_table(std::integer_sequence<int, Row...>, std::integer_sequence<int, Vectors...>) {
  constexpr auto rows_of = []<int vectors>(TileKernel<A, P>(&kernels)[tile_rows],
                                           std::integral_constant<int, vectors>) {
    ((kernels[Row] = &run_tile<A, P, simd_width<A>, rows_at_once(Row + 1), vectors>), ...);
  };
  TileTable<A, P> table{{&run_tile<A, P, tile_step<A>, rows_at_once(Row + 1), 1>...}, {}};
  (rows_of(table.whole[Vectors], std::integral_constant<int, Vectors + 1>()), ...);
  return table;
}
template <class A, class P>
inline constexpr TileTable<A, P> tiles =
    tile_table<A, P>(std::make_integer_sequence<int, tile_rows>(), std::make_integer_sequence<int, tile_vectors>());
}  // namespace detail

/// Runs a tile of 1 .. tile_rows rows over at least `columns` columns and returns how many it covered: covered_columns,
/// or for a single row that fills more, tile_columns(1).
template <class A, class P>
inline long run_tile(const Tile<A, P>& tile, int rows, long columns) {
  if (rows == 1 && columns > tile_columns<A>(2)) {
    detail::run_tile<A, P, simd_width<A>, 1, row_vectors>(tile);
    return tile_columns<A>(1);
  }
  const long covered = covered_columns<A>(columns);
  const auto& kernels =
      covered < simd_width<A> ? detail::tiles<A, P>.half : detail::tiles<A, P>.whole[covered / simd_width<A> - 1];
  kernels[rows - 1](tile);
  if (const int done = detail::rows_at_once(rows); done < rows) {
    Tile<A, P> rest = tile;
    rest.row += done;
    rest.out += done * tile.out_row;
    kernels[rows - done - 1](rest);
  }
  return covered;
}

namespace detail {
template <class A, class P>
[[gnu::noinline]] inline long run_several_segments(Tile<A, P> tile, int rows, long columns, long segment) {
  for (long left = tile.count - segment; left > 0; left -= segment) {
    tile.count = segment;
    run_tile(tile, rows, columns);
    tile.taps += segment, tile.count = left, tile.resume = false, tile.add = true;
  }
  return run_tile(tile, rows, columns);
}
}  // namespace detail
/// The same for any number of steps: segment after segment. `resume` is for the first one.
template <class A, class P>
inline long run_segments(const Tile<A, P>& tile, int rows, long columns, long segment = segment_units<A>) {
  return tile.count <= segment ? run_tile(tile, rows, columns)
                               : detail::run_several_segments(tile, rows, columns, segment);
}
#endif  // TENON_DEFINES

}  // namespace tenon::kernel
TENON_EXACT_END
