// Sums over the rows of matrices of any size, in the order of column_sums, as in columns.hpp: with few rows in one
// launch without a workspace, by a block for every 8 columns; else in two.
#pragma once
#include <tenon/backend/cuda/reduce/tree.hpp>
#include <tenon/backend/cuda/step/parts.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::kernel::cuda {

/// The sum of the terms of rows begin .. begin + 31, as far as there are rows.
template <class A, class Term>
__device__ A sum_of_chain(long begin, long rows, Term term) {
  A total = 0;
  if (rows - begin >= sum_chain) {
#pragma unroll 8
    for (int r = 0; r < int(sum_chain); ++r) total += term(begin + r);
  } else {
    for (long r = begin; r < rows; ++r) total += term(r);
  }
  return total;
}

/// Columns are what a block sums up side by side: 32 bytes of a row of float32, which is what memory gives at once.
/// `Columns`, the part of a launch, has
///
///     using A = ...;  long rows, columns;
///     __device__ A chain(long begin, long column) const;      sum_of_chain() of its terms
///     __device__ void store(long column, A total) const;
template <class Columns>
struct SumNarrowColumns {
  using Part = Columns;
  using A = typename Columns::A;
  static constexpr int places = 8, parts = 64, threads = places * parts;

  /// More rows, or more columns, keep a GPU busy in two launches.
  static constexpr bool fits(long rows, long columns) { return rows <= 4 * parts * sum_chain && columns <= 4096; }
  static long blocks(const Part& part) { return blocks_for(part.columns, places); }
  __device__ static void block(const Part& part, long block) {
    const long own = block * places + int(threadIdx.x) % places, column = own < part.columns ? own : part.columns - 1,
               chains = part.rows <= sum_chain ? 1 : (part.rows + sum_chain - 1) / sum_chain;
    const A total =
        sum_of_tiles<parts, places, 1, A>(chains, Add(), [&](long c) { return part.chain(c * sum_chain, column); });
    if (int(threadIdx.x) < places && own < part.columns) part.store(column, total);
  }
};

/// The sums of the elements of x. `adds_zero`: after all chains.
template <class T, class R, class Accumulated>
struct PlainColumns {
  using A = Accumulated;
  const T* x;
  R* sums;
  long rows, columns;
  bool adds_zero;

  __device__ A chain(long begin, long column) const {
    return sum_of_chain<A>(begin, rows, [&](long row) { return static_cast<A>(x[row * columns + column]); });
  }
  __device__ void store(long column, A total) const { sums[column] = static_cast<R>(adds_zero ? total + A(0) : total); }
};

/// Two launches: the sums of 8 chains each, by a block for 32 columns, and those of all of them. They are the same
/// kernels for all matrices of a dtype.
template <class Columns>
struct SumTilesOfColumns {
  using A = typename Columns::A;
  static constexpr int places = 32, parts = 8, threads = places * parts;
  Columns matrix;
  long chains, tiles;

  explicit SumTilesOfColumns(const Columns& columns)
      : matrix(columns),
        chains(columns.rows <= sum_chain ? 1 : (columns.rows + sum_chain - 1) / sum_chain),
        tiles((chains + parts - 1) / parts) {}
  TENON_DEVICE long across() const { return (matrix.columns + places - 1) / places; }
  __device__ void block(const Arguments& a) const {
    const long tile = blockIdx.x / across(), first = tile * parts,
               last = first + parts < chains ? first + parts : chains,
               own = blockIdx.x % across() * places + int(threadIdx.x) % places,
               column = own < matrix.columns ? own : matrix.columns - 1;
    const A sum = sum_of_parts<parts, places, A, 1>(first, last, 1, Add(),
                                                    [&](long c) { return matrix.chain(c * sum_chain, column); });
    if (int(threadIdx.x) < places && own < matrix.columns)
      reinterpret_cast<A*>(a.workspace)[tile * matrix.columns + own] = sum;
  }
};
template <class Columns>
struct SumOfColumnTiles : SumTilesOfColumns<Columns> {
  using Tiles = SumTilesOfColumns<Columns>;
  using A = typename Tiles::A;
  using Tiles::Tiles, Tiles::matrix;
  __device__ void block(const Arguments& a) const {
    const long own = long(blockIdx.x) * Tiles::places + int(threadIdx.x) % Tiles::places,
               column = own < matrix.columns ? own : matrix.columns - 1;
    const A* const sums = reinterpret_cast<const A*>(a.workspace) + column;
    const A total = sum_of_tiles<Tiles::parts, Tiles::places, Tiles::parts, A>(
        Tiles::tiles, Add(), [&](long tile) { return sums[tile * matrix.columns]; });
    if (int(threadIdx.x) < Tiles::places && own < matrix.columns) matrix.store(column, total);
  }
};
/// The workspace of sum_matrix(), which has a tile of sums even if there are no rows.
template <class A>
constexpr long matrix_sums_bytes(long rows, long columns) {
  constexpr long rows_of_tile = 8 * sum_chain;
  return (rows > 0 ? (rows + rows_of_tile - 1) / rows_of_tile : 1) * columns * long(sizeof(A));
}
template <class Columns>
void sum_matrix(const Columns& columns, const Arguments& a) {
  const SumTilesOfColumns<Columns> tiles(columns);
  launch_blocks(tiles, a, tiles.across() * tiles.tiles);
  launch_blocks(SumOfColumnTiles<Columns>(columns), a, tiles.across());
}

}  // namespace tenon::kernel::cuda
TENON_EXACT_END
