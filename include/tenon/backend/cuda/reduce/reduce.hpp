// Reductions over axes, in the order of backend/cpu/reduce/reduce.hpp.
#pragma once
#include <bit>

#include <tenon/backend/cpu/reduce/reduce.hpp>
#include <tenon/backend/cuda/reduce/narrow_columns.hpp>
#include <tenon/backend/cuda/reduce/tree.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::kernel::cuda {

/// What is reduced: operand 0 of C over the axes of `mask`. `F` combines, beginning with F::initial; `Finish` makes of
/// the total an element of the result. `chained`: chains are combined as by SumTree; otherwise there is one chain.
template <class Call, unsigned reduced, class Accumulated, class Combine, class FinishTotal, bool in_chains,
          class Element = typename Call::template Operand<0>>
struct Reduced {
  using C = Call;
  using A = Accumulated;
  using F = Combine;
  using Finish = FinishTotal;
  using T = Element;
  using R = typename Call::Result;
  static constexpr unsigned mask = reduced;
  static constexpr bool chained = in_chains;
};

/// The walk of a reduction (cpu/reduce/walk.hpp) on the device: n is a factor of the first group alone.
template <class D>
struct DeviceWalk {
  static constexpr ReduceWalk walk = reduce_walk(D::C::operand(0), D::mask, 1);
  static constexpr bool scales = D::C::operand(0).batched(), vertical = walk.vertical();
  static constexpr int groups = walk.groups;
  static constexpr long own_length = walk.length(), own_runs = walk.runs;
  static constexpr bool scales_length = scales && groups == 1, scales_runs = scales && groups > 1 && (D::mask & 1);

  TENON_DEVICE static constexpr long length(long n) { return scales_length ? n * own_length : own_length; }
  TENON_DEVICE static constexpr long runs(long n) { return scales_runs ? n * own_runs : own_runs; }
  /// Rows of lanes of a run, and of all runs; rows of a column.
  TENON_DEVICE static constexpr long rows_of_run(long n) { return (length(n) + lanes - 1) / lanes; }
  TENON_DEVICE static constexpr long rows(long n) { return vertical ? runs(n) : runs(n) * rows_of_run(n); }
  static constexpr bool one_chain = !D::chained || (is_one_chain(walk) && !(scales && D::mask & 1));
  static constexpr long chain = vertical ? sum_chain : lane_chain;
  /// Whole chains, and with them the rest, if rows are left.
  TENON_DEVICE static constexpr long chains(long n) {
    return one_chain || (rows(n) <= chain && !vertical) ? 0 : rows(n) / chain;
  }
  TENON_DEVICE static constexpr bool ends_with_chain(long n) { return chains(n) > 0 && rows(n) % chain == 0; }
  TENON_DEVICE static constexpr long entries(long n) { return chains(n) + !ends_with_chain(n); }
  __device__ static long kept_offset(long kept, long n) {
    constexpr ReduceWalk w = walk;
    if constexpr (vertical) return w.offset(kept / length(n), false) + kept % length(n);
    else return w.offset(kept, false);
  }
  __device__ static long run_offset(long run) {
    constexpr ReduceWalk w = walk;
    return w.offset(run, true);
  }
};

/// Elements of one result: of a lane of its rows, or of its column.
template <class D>
struct OneResult {
  using W = DeviceWalk<D>;
  using A = typename D::A;
  const typename D::T* x;
  long n, rows_of_run, length;
  int lane;

  __device__ OneResult(const Arguments& a, long kept)
      : x(a.operand<typename D::T>(0) + W::kept_offset(kept, a.n)),
        n(a.n),
        rows_of_run(W::rows_of_run(a.n)),
        length(W::length(a.n)),
        lane(W::vertical ? 0 : lane_of_row()) {}
  __device__ A at(long row) const {
    if constexpr (W::vertical) return static_cast<A>(x[W::run_offset(row)]);
    else {
      const long run = W::own_runs == 1 && !W::scales_runs ? 0 : row / rows_of_run,
                 i = (row - run * rows_of_run) * lanes + lane;
      return i < length ? static_cast<A>(x[W::run_offset(run) + i]) : D::F::template initial<A>();
    }
  }
  /// Chain c, or the rest.
  __device__ A entry(long c) const {
    constexpr typename D::F combine;
    constexpr int at_once = 8;
    A total = D::F::template initial<A>();
    if (c < W::chains(n)) {
#pragma unroll
      for (int r = 0; r < int(W::chain); ++r) total = combine(total, at(c * W::chain + r));
      return total;
    }
    const long rows = W::rows(n);
    for (long first = c * W::chain; first < rows; first += at_once) {
      A value[at_once];
#pragma unroll
      for (int r = 0; r < at_once; ++r) value[r] = at(first + r < rows ? first + r : rows - 1);
#pragma unroll
      for (int r = 0; r < at_once; ++r)
        if (first + r < rows) total = combine(total, value[r]);
    }
    return total;
  }
  /// A tree of whole chains ends with one of no elements.
  __device__ A finished(A total) const {
    return W::ends_with_chain(n) ? typename D::F()(total, D::F::template initial<A>()) : total;
  }
};

/// A half warp per result, or with the last axis kept a thread.
template <class D>
struct ReduceWhole {
  using W = DeviceWalk<D>;
  using A = typename D::A;
  static constexpr int threads = 256, results = W::vertical ? threads : threads / lanes;
  static long blocks(long n) { return blocks_for(result_count<typename D::C>(n), results); }
  __device__ static void block(const Arguments& a) {
    const long count = result_count<typename D::C>(a.n),
               own = long(blockIdx.x) * results + (W::vertical ? int(threadIdx.x) : row_of_block());
    const long kept = own < count ? own : count - 1;  // all lanes of a warp meet in fold_half_warp
    const OneResult<D> elements(a, kept);
    A total;
    if constexpr (W::one_chain) total = elements.entry(0);
    else
      total = elements.finished(
          sum_of_entries<A>(0, W::entries(a.n), typename D::F(), [&](long c) { return elements.entry(c); }));
    if constexpr (!W::vertical) total = fold_half_warp(total, typename D::F());
    if (own < count && (W::vertical || lane_of_row() == 0))
      a.result<typename D::R>()[kept] = D::Finish::template of<typename D::C>(total, a.n);
  }
};

/// Parts of a result in several blocks: first the sums of `tile` chains each, in all lanes, then those of the tiles.
template <class D>
struct Tiles {
  using W = DeviceWalk<D>;
  static constexpr int threads = 256;
  /// Places side by side: lanes, or columns.
  static constexpr long results_of_one = result_count<typename D::C>(1);
  static constexpr int places =
      W::vertical ? int(std::bit_ceil(std::size_t(results_of_one < 32 ? results_of_one : 32))) : lanes;
  static constexpr int parts = threads / places, chains_of_part = W::vertical ? 1 : 8;
  static constexpr int tile = parts * chains_of_part;

  TENON_DEVICE static constexpr long tiles(long n) { return (W::entries(n) + tile - 1) / tile; }
  /// Sums of tiles that lie side by side.
  TENON_DEVICE static constexpr long width(long n) {
    return result_count<typename D::C>(n) * (W::vertical ? 1 : lanes);
  }
  static constexpr long bytes(long n) { return tiles(n) * width(n) * long(sizeof(typename D::A)); }
};
/// The threads of part 0 store the result of their column, or of their row.
template <class D>
__device__ void store_reduced(const Arguments& a, const OneResult<D>& elements, long column, typename D::A total) {
  using W = DeviceWalk<D>;
  total = elements.finished(total);
  if constexpr (!W::vertical) total = fold_half_warp(total, typename D::F());
  if (int(threadIdx.x) < Tiles<D>::places && column < Tiles<D>::width(a.n) && (W::vertical || lane_of_row() == 0))
    a.result<typename D::R>()[column / (W::vertical ? 1 : lanes)] = D::Finish::template of<typename D::C>(total, a.n);
}
template <class D>
struct ReduceTiles {
  using W = DeviceWalk<D>;
  using A = typename D::A;
  using P = Tiles<D>;
  static constexpr int threads = P::threads;
  static long blocks(long n) { return blocks_for(P::width(n), P::places) * P::tiles(n); }
  __device__ static void block(const Arguments& a) {
    const long width = P::width(a.n), across = (width + P::places - 1) / P::places, tile = blockIdx.x / across;
    const int place = int(threadIdx.x) % P::places;
    const long column = blockIdx.x % across * P::places + place, kept = column / (W::vertical ? 1 : lanes);
    const OneResult<D> elements(a, column < width ? kept : 0);
    const long entries = W::entries(a.n), first = tile * P::tile,
               last = first + P::tile < entries ? first + P::tile : entries;
    const A value = sum_of_parts<P::parts, P::places, A, P::chains_of_part>(
        first, last, P::chains_of_part, typename D::F(), [&](long c) { return elements.entry(c); });
    if (P::tiles(a.n) == 1) store_reduced<D>(a, elements, column, value);
    else if (int(threadIdx.x) < P::places && column < width)
      reinterpret_cast<A*>(a.workspace)[tile * width + column] = value;
  }
};
template <class D>
struct CombineTiles {
  using A = typename D::A;
  using P = Tiles<D>;
  static constexpr int threads = P::threads;
  static long blocks(long n) { return blocks_for(P::width(n), P::places); }
  __device__ static void block(const Arguments& a) {
    const long width = P::width(a.n), own = long(blockIdx.x) * P::places + int(threadIdx.x) % P::places,
               column = own < width ? own : width - 1;
    const A* const sums = reinterpret_cast<const A*>(a.workspace) + column;
    const A total = sum_of_tiles<P::parts, P::places, P::tile, A>(P::tiles(a.n), typename D::F(),
                                                                  [=](long t) { return sums[t * width]; });
    store_reduced<D>(a, OneResult<D>(a, 0), own, total);
  }
};

/// A reduction is cut into tiles where it has several chains and its results alone do not fill a GPU.
template <class D>
constexpr bool is_tiled(long n) {
  constexpr long enough = 1l << 14;  // lanes or columns
  return DeviceWalk<D>::entries(n) > Tiles<D>::chains_of_part && Tiles<D>::width(n) < enough;
}
struct AsResult {
  template <class C, class A>
  __device__ static typename C::Result of(A total, long) {
    return static_cast<typename C::Result>(total);
  }
};
template <class D>
using NarrowColumns = SumNarrowColumns<PlainColumns<typename D::T, typename D::R, typename D::A>>;
/// Plain sums over the first axes of a matrix, which may have few columns.
template <class D>
inline constexpr bool sums_matrix =
    DeviceWalk<D>::vertical && DeviceWalk<D>::walk.groups == 2 && !DeviceWalk<D>::one_chain &&
    std::is_same_v<typename D::F, Add> && std::is_same_v<typename D::Finish, AsResult>;
template <class D>
constexpr bool is_narrow(long n) {
  if constexpr (sums_matrix<D>) return NarrowColumns<D>::fits(DeviceWalk<D>::rows(n), DeviceWalk<D>::own_length);
  else return false;
}
template <class D>
constexpr long reduce_workspace(long n) {
  if constexpr (sums_matrix<D>)
    return is_narrow<D>(n) ? 0 : matrix_sums_bytes<typename D::A>(DeviceWalk<D>::rows(n), DeviceWalk<D>::own_length);
  else return is_tiled<D>(n) && Tiles<D>::tiles(n) > 1 ? Tiles<D>::bytes(n) : 0;
}
template <class D>
void reduce_there(const Arguments& a) {
  using W = DeviceWalk<D>;
  if constexpr (sums_matrix<D>) {
    const typename NarrowColumns<D>::Part columns{a.operand<typename D::T>(0), a.result<typename D::R>(), W::rows(a.n),
                                                  W::own_length, W::ends_with_chain(a.n)};
    if (is_narrow<D>(a.n)) launch_part<NarrowColumns<D>>(columns);
    else sum_matrix(columns, a);
  } else {
    if constexpr (!W::one_chain)
      if (is_tiled<D>(a.n)) {
        launch_blocks<ReduceTiles<D>>(a);
        if (Tiles<D>::tiles(a.n) > 1) launch_blocks<CombineTiles<D>>(a);
        return;
      }
    launch_blocks<ReduceWhole<D>>(a);
  }
}

}  // namespace tenon::kernel::cuda
TENON_EXACT_END
