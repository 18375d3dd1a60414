// Sort and topk: tiles of a line are sorted in shared memory, then neighbouring runs of sorted keys become one.
#pragma once
#include <tenon/backend/cpu/movement/index/sort.hpp>
#include <tenon/backend/cuda/movement/merge.hpp>

namespace tenon::inline TENON_ABI {
namespace kernel::cuda {

/// What the launches share. Workspace: the keys, twice.
template <class C>
struct SortLines {
  using T = typename C::Result;
  using Key = SortKey<T>;
  static constexpr int tile = 512, axis = normalized_axis(C::config().axis, C::result.rank);
  static constexpr long extent = C::operand(0)[axis], wanted = C::result[axis],
                        inner = C::result.span(axis + 1, C::result.rank), tiles = blocks_for(extent, tile);
  TENON_DEVICE static constexpr long lines(long n) {
    constexpr long size = extent;
    return size ? operand_count<C, 0>(n) / size : 0;
  }
  static constexpr int merges() {
    int passes = 0;
    for (long width = tile; width < extent; width *= 2) ++passes;
    return passes;
  }
  __device__ static Key* keys(const Arguments& a, long copy) {
    return reinterpret_cast<Key*>(a.workspace) + copy * operand_count<C, 0>(a.n);
  }
};

template <class C>
struct SortTiles {
  using Lines = SortLines<C>;
  static constexpr int threads = Lines::tile;
  static long blocks(long n) { return Lines::lines(n) * Lines::tiles; }
  __device__ static void block(const Arguments& a) {
    using Key = typename Lines::Key;
    constexpr auto c = C::config();
    constexpr long extent = Lines::extent, inner = Lines::inner, tiles = Lines::tiles;
    __shared__ Key keys[2][threads];
    const long line = blockIdx.x / tiles, first = blockIdx.x % tiles * threads, at = first + threadIdx.x;
    const long left = extent - first, count = left < threads ? left : threads;
    const auto* const x = a.operand<typename C::Result>(0) + line / inner * extent * inner + line % inner;
    if (at < extent) keys[0][threadIdx.x] = sort_key(x[at * inner], at, c.descending != 0);
    __syncthreads();
    int now = 0;
    for (int width = 1; width < count; width *= 2) {
      if (threadIdx.x < count) {
        const Key key = keys[now][threadIdx.x];
        keys[1 - now][merged_place(keys[now], count, width, threadIdx.x)] = key;
      }
      now = 1 - now;
      __syncthreads();
    }
    if (at < extent) Lines::keys(a, 0)[line * extent + at] = keys[now][threadIdx.x];
  }
};
/// Pass a.immediate of the merges.
template <class C>
struct MergeTiles {
  using Lines = SortLines<C>;
  static constexpr int threads = 256;
  static long blocks(long n) { return blocks_for(operand_count<C, 0>(n), threads); }
  __device__ static void block(const Arguments& a) {
    constexpr long extent = Lines::extent, tile = Lines::tile;
    const long i = thread_of_grid(), pass = long(a.immediate);
    if (i >= operand_count<C, 0>(a.n)) return;
    const long first = i / extent * extent;
    const auto* const keys = Lines::keys(a, pass % 2) + first;
    Lines::keys(a, 1 - pass % 2)[first + merged_place(keys, extent, tile << pass, i - first)] = keys[i - first];
  }
};
template <class C>
struct TakeSorted {
  using Lines = SortLines<C>;
  static constexpr int threads = 256;
  static long blocks(long n) { return blocks_for(result_count<C>(n), threads); }
  __device__ static void block(const Arguments& a) {
    using T = typename C::Result;
    constexpr long extent = Lines::extent, wanted = Lines::wanted, inner = Lines::inner;
    const long i = thread_of_grid();
    if (i >= result_count<C>(a.n)) return;
    const long outer = i / inner / wanted, j = i / inner % wanted, column = i % inner;
    const auto place = Lines::keys(a, long(a.immediate))[(outer * inner + column) * extent + j].place;
    a.result<T>()[i] = a.operand<T>(0)[(outer * extent + place) * inner + column];
    if constexpr (has_result<C, 1>) result_of<C, 1>(a)[i] = place;
  }
};

}  // namespace kernel::cuda

template <>
struct Kernel<Cuda, ops::Sort> : kernel::cuda::Whole {
  template <class Call>
  static constexpr long workspace(long n) {
    return 2 * Call::operand(0).count(n) * long(sizeof(kernel::SortKey<typename Call::Result>));
  }
  template <class Call>
  static void run(const Arguments& a, long, long) {
    using namespace kernel::cuda;
    Arguments pass = a;
    launch_blocks<SortTiles<Call>>(a);
    constexpr int merges = SortLines<Call>::merges();
    for (int m = 0; m < merges; ++m) {
      pass.immediate = std::uint64_t(m);
      launch_blocks<MergeTiles<Call>>(pass);
    }
    pass.immediate = std::uint64_t(merges % 2);
    launch_blocks<TakeSorted<Call>>(pass);
  }
};

}  // namespace tenon
