// Sums of computed terms of a column, in the order of column_sums (cpu/reduce/accumulation_order.hpp): chains of 32
// rows, and these as a tree.
#pragma once
#include <tenon/backend/cuda/reduce/tree.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::kernel::cuda {

/// Columns and their terms, `S`:
///
///     using A = ...;  static constexpr int sums;  static constexpr long columns;
///     __device__ static bool skipped(const Arguments&);          no sums are wanted; then skip() is called
///     TENON_DEVICE static long rows(long n);
///     __device__ S(const Arguments&, long column);
///     template <int s> __device__ void add(A& total, long row);  adds the term of sum s
///     __device__ void store(const A (&total)[sums]);             what the totals of all rows are for
template <class S>
struct ColumnTiles {
  using A = typename S::A;
  static constexpr int places = 32, parts = 8, threads = places * parts;
  TENON_DEVICE static long chains(long n) {
    const long rows = S::rows(n);
    return rows <= sum_chain ? 1 : (rows + sum_chain - 1) / sum_chain;
  }
  TENON_DEVICE static long tiles(long n) { return (chains(n) + parts - 1) / parts; }
  static long bytes(long n) { return S::sums * tiles(n) * S::columns * long(sizeof(A)); }
  TENON_DEVICE static constexpr long across() { return (S::columns + places - 1) / places; }
  static long blocks(long n) { return across() * tiles(n); }

  __device__ static void block(const Arguments& a) {
    if (S::skipped(a)) return;
    const long tile = blockIdx.x / across(), column = blockIdx.x % across() * places + int(threadIdx.x) % places;
    S source(a, column < S::columns ? column : S::columns - 1);
    [&]<int... s>(std::integer_sequence<int, s...>) {
      (sum_up<s>(a, source, tile, column), ...);
    }(std::make_integer_sequence<int, S::sums>());
  }

 private:
  template <int s>
  __device__ static void sum_up(const Arguments& a, S& source, long tile, long column) {
    const long all = chains(a.n), rows = S::rows(a.n), first = tile * parts;
    const auto chain = [&](long c) {
      const long begin = c * sum_chain;
      A total = 0;
      if (rows - begin >= sum_chain) {
#pragma unroll 16
        for (int r = 0; r < int(sum_chain); ++r) source.template add<s>(total, begin + r);
      } else {
        for (long r = begin; r < rows; ++r) source.template add<s>(total, r);
      }
      return total;
    };
    const A value =
        sum_of_parts<parts, places, A, 1>(first, first + parts < all ? first + parts : all, 1, Add(), chain);
    if (int(threadIdx.x) < places && column < S::columns)
      reinterpret_cast<A*>(a.workspace)[(s * tiles(a.n) + tile) * S::columns + column] = value;
  }
};
template <class S>
struct ColumnTotals {
  using A = typename S::A;
  using Tiles = ColumnTiles<S>;
  static constexpr int places = Tiles::places, parts = Tiles::parts, threads = Tiles::threads;
  static long blocks(long) { return Tiles::across(); }
  __device__ static void block(const Arguments& a) {
    const long own = long(blockIdx.x) * places + int(threadIdx.x) % places,
               column = own < S::columns ? own : S::columns - 1, tiles = Tiles::tiles(a.n);
    if (S::skipped(a)) {
      if (int(threadIdx.x) < places && own < S::columns) S(a, column).skip();
      return;
    }
    A total[S::sums];
#pragma unroll
    for (int s = 0; s < S::sums; ++s) {
      const A* const sums = reinterpret_cast<const A*>(a.workspace) + s * tiles * S::columns + column;
      total[s] =
          sum_of_tiles<parts, places, parts, A>(tiles, Add(), [=](long tile) { return sums[tile * S::columns]; });
    }
    if (int(threadIdx.x) < places && own < S::columns) S(a, column).store(total);
  }
};
template <class S>
void sum_columns(const Arguments& a) {
  launch_blocks<ColumnTiles<S>>(a);
  launch_blocks<ColumnTotals<S>>(a);
}

}  // namespace tenon::kernel::cuda
TENON_EXACT_END
