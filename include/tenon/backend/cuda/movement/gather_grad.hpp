// The gradient of gather: rows are summed by number in the order of backend/order.hpp. Their places are sorted by row,
// each chain of sum_chain places is added up on its own, then the chains of a row as a tree.
#pragma once
#include <bit>

#include <tenon/backend/cpu/movement/index/gather.hpp>
#include <tenon/backend/cuda/movement/merge.hpp>
#include <tenon/backend/cuda/reduce/tree.hpp>
#include <tenon/backend/cuda/step/neighbours.hpp>
#include <tenon/core/math/wrapping.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI {
namespace kernel::cuda {

/// A row of the table and a place where it is named: all differ, and the order is that of the sums.
using RowPlace = std::uint64_t;
TENON_DEVICE constexpr RowPlace row_place(long row, long place) { return RowPlace(row) << 32 | RowPlace(place); }
TENON_DEVICE constexpr long row_of(RowPlace key) { return long(key >> 32); }
TENON_DEVICE constexpr long place_of(RowPlace key) { return long(key & 0xffffffffu); }

/// What the launches share. Workspace: the keys, twice, and the sums of chains of rows that have several.
template <class C>
struct SumsByRow {
  using T = typename C::Result;
  using A = std::conditional_t<is_floating(C::result.dtype), Accumulator<T>, T>;
  static constexpr int tile = 1024;  // places that a block sorts
  static constexpr long rows = C::result[0], length = C::result.span(1, C::result.rank);

  TENON_DEVICE static constexpr long places(long n) { return operand_count<C, 0>(n); }
  /// How often runs of keys are merged after the first sort.
  static constexpr int merges(long n) {
    int passes = 0;
    for (long width = tile; width < places(n); width *= 2) ++passes;
    return passes;
  }
  /// Of rows with several chains no two first ones, and no two others, begin within sum_chain sorted places.
  TENON_DEVICE static constexpr long slot(long at, bool first) { return at / sum_chain * 2 + first; }
  static constexpr long bytes(long n) {
    const long sums = places(n) > sum_chain ? slot(places(n), true) + 1 : 0;
    return 2 * places(n) * long(sizeof(RowPlace)) + sums * length * long(sizeof(A));
  }
  __device__ static RowPlace* keys(const Arguments& a, long copy) {
    return reinterpret_cast<RowPlace*>(a.workspace) + copy * places(a.n);
  }
  /// Those that are sorted in the end.
  __device__ static const RowPlace* sorted(const Arguments& a) { return keys(a, long(a.immediate)); }
  __device__ static A* sums(const Arguments& a) { return reinterpret_cast<A*>(keys(a, 2)); }
};

template <class C>
struct SortPlaces {
  static constexpr int threads = SumsByRow<C>::tile;
  static long blocks(long n) { return blocks_for(SumsByRow<C>::places(n), threads); }
  __device__ static void block(const Arguments& a) {
    using Sums = SumsByRow<C>;
    using I = typename C::template Operand<0>;
    __shared__ RowPlace keys[2][threads];
    const long place = thread_of_grid(), places = Sums::places(a.n);
    // a number without a row comes after all rows, and what is no place after that
    long row = Sums::rows + 1;
    if (place < places) {
      row = table_row(a.operand<I>(0)[place], Sums::rows);
      if (row < 0) row = Sums::rows;
    }
    int now = 0;
    keys[now][threadIdx.x] = row_place(row, place);
    __syncthreads();
    for (int width = 1; width < threads; width *= 2) {
      const RowPlace key = keys[now][threadIdx.x];
      keys[1 - now][merged_place(keys[now], threads, width, threadIdx.x)] = key;
      now = 1 - now;
      __syncthreads();
    }
    if (place < places) Sums::keys(a, 0)[place] = keys[now][threadIdx.x];
  }
};
/// Pass a.immediate of the merges.
template <class C>
struct MergePlaces {
  static constexpr int threads = 256;
  static long blocks(long n) { return blocks_for(SumsByRow<C>::places(n), threads); }
  __device__ static void block(const Arguments& a) {
    using Sums = SumsByRow<C>;
    const long i = thread_of_grid(), places = Sums::places(a.n), pass = long(a.immediate);
    const RowPlace* const keys = Sums::keys(a, pass % 2);
    if (i < places) Sums::keys(a, 1 - pass % 2)[merged_place(keys, places, long(Sums::tile) << pass, i)] = keys[i];
  }
};

/// Sorts the places by row. Returns which copy of the keys is sorted, for a.immediate.
template <class C>
std::uint64_t sort_places(const Arguments& a) {
  Arguments pass = a;
  launch_blocks<SortPlaces<C>>(a);
  const int merges = SumsByRow<C>::merges(a.n);
  for (int m = 0; m < merges; ++m) {
    pass.immediate = std::uint64_t(m);
    launch_blocks<MergePlaces<C>>(pass);
  }
  return std::uint64_t(merges % 2);
}

struct Zero {
  template <class C>
  __device__ static auto value(const Arguments&, long) {
    return typename C::Result{};
  }
};

/// Terms that are loaded before they are added up: they come at once.
inline constexpr int terms_at_once = 8;

/// A warp for each sorted place and some columns: it adds up the chain that begins there.
template <class C>
struct SumChains {
  using Sums = SumsByRow<C>;
  using A = typename Sums::A;
  using T = typename Sums::T;
  static_assert(sum_chain == warp);
  static constexpr int threads = 256, together = together_of<T>;
  static constexpr long slabs = blocks_for(Sums::length, warp* together);
  static long blocks(long n) { return blocks_for(Sums::places(n) * slabs, threads / warp); }
  __device__ static void block(const Arguments& a) {
    const long own = thread_of_grid() / warp, at = own / slabs, places = Sums::places(a.n);
    const int lane = int(threadIdx.x) % warp;
    if (at >= places) return;
    const RowPlace* const keys = Sums::sorted(a);
    const long row = row_of(keys[at]);
    const auto has_row = [&](long i) { return i >= 0 && i < places && row_of(keys[i]) == row; };
    if (row >= Sums::rows) return;
    const bool first = !has_row(at - 1);
    if (!first) {
      if (!has_row(at - sum_chain)) return;
      if ((at - count_smaller(keys, 0, at, row_place(row, 0))) % sum_chain != 0) return;
    }
    // each lane has one of the chain's places
    const bool mine = has_row(at + lane);
    const long place = mine ? place_of(keys[at + lane]) : 0;
    const int terms = std::popcount(__ballot_sync(~0u, mine));
    const long column = (own % slabs * warp + lane) * together, left = Sums::length - column;
    Neighbours<A, together> sum{};
    for (int begin = 0; begin < terms; begin += terms_at_once) {
      Neighbours<T, together> term[terms_at_once];
#pragma unroll
      for (int t = 0; t < terms_at_once; ++t) {
        const long from = __shfl_sync(~0u, place, (begin + t) % warp);
        if (begin + t < terms && left > 0)
          term[t] = load_neighbours<together>(a.operand<T>(1), from * Sums::length + column, left);
      }
#pragma unroll
      for (int t = 0; t < terms_at_once; ++t)
#pragma unroll
        for (int k = 0; k < together; ++k)
          if (begin + t < terms && left > 0)
            sum.element[k] = math::wrapping_add(sum.element[k], static_cast<A>(term[t].element[k]));
    }
    if (left <= 0) return;
    if (!first || has_row(at + sum_chain))
      return store_neighbours(sum, Sums::sums(a) + Sums::slot(at, first) * Sums::length, column, left);
    Neighbours<T, together> total;
#pragma unroll
    for (int k = 0; k < together; ++k) total.element[k] = static_cast<T>(sum.element[k]);
    store_neighbours(total, a.result<T>() + row * Sums::length, column, left);
  }
};
/// The same for rows of several chains: it adds up the sums of the chains of the row that begins there.
template <class C>
struct SumChainsOfRows {
  using Sums = SumsByRow<C>;
  using A = typename Sums::A;
  using T = typename Sums::T;
  static constexpr int threads = 256;
  static constexpr long slabs = blocks_for(Sums::length, warp);
  static long blocks(long n) { return blocks_for(Sums::places(n) * slabs, threads / warp); }
  __device__ static void block(const Arguments& a) {
    const long own = thread_of_grid() / warp, at = own / slabs, places = Sums::places(a.n),
               column = own % slabs * warp + threadIdx.x % warp;
    if (at + sum_chain >= places || column >= Sums::length) return;
    const RowPlace* const keys = Sums::sorted(a);
    const long row = row_of(keys[at]);
    if (row >= Sums::rows || row_of(keys[at + sum_chain]) != row || (at > 0 && row_of(keys[at - 1]) == row)) return;
    const long end = at + count_smaller(keys, at, places, row_place(row + 1, 0)), last = (end - 1 - at) / sum_chain;
    Tree<A> tree;
    A sum = 0;
    for (long begin = 0; begin <= last; begin += terms_at_once) {
      A chain[terms_at_once];
#pragma unroll
      for (int t = 0; t < terms_at_once; ++t)
        if (const long c = begin + t; c <= last)
          chain[t] = Sums::sums(a)[Sums::slot(at + c * sum_chain, c == 0) * Sums::length + column];
#pragma unroll
      for (int t = 0; t < terms_at_once; ++t)
        if (begin + t < last) tree.add(chain[t], Add());
        else if (begin + t == last) sum = tree.finish(chain[t], Add());
    }
    a.result<T>()[row * Sums::length + column] = static_cast<T>(sum);
  }
};

}  // namespace kernel::cuda

template <>
struct Kernel<Cuda, ops::GatherGrad> : kernel::cuda::Whole {
  template <class Call>
  static constexpr long workspace(long n) {
    return kernel::cuda::SumsByRow<Call>::bytes(n);
  }
  template <class Call>
  static void run(const Arguments& a, long, long) {
    using namespace kernel::cuda;
    Arguments pass = a;
    launch_blocks<PerValue<Zero, Call>>(a);
    pass.immediate = sort_places<Call>(a);
    launch_blocks<SumChains<Call>>(pass);
    if (SumsByRow<Call>::places(a.n) > kernel::sum_chain) launch_blocks<SumChainsOfRows<Call>>(pass);
  }
};

}  // namespace tenon
TENON_EXACT_END
