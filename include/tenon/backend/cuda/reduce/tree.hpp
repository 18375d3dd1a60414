// Sums of chains as a tree in registers, and sums in 16 lanes: the order of the CPU's SumTree, a half warp per row.
#pragma once
#include <bit>

#include <tenon/backend/cuda/device.hpp>
#include <tenon/backend/order.hpp>
#include <tenon/core/math/wrapping.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::kernel::cuda {

/// a + b, beginning with 0; integers wrap around.
struct Add {
  template <class A>
  TENON_DEVICE static constexpr A initial() {
    return A(0);
  }
  template <class A>
  TENON_DEVICE constexpr A operator()(A a, A b) const {
    return math::wrapping_add(a, b);
  }
};

/// Levels of SumTree: the last one takes what comes.
inline constexpr int tree_levels = 16;

/// SumTree of one number. `combine` is a sum, or an operation for which the grouping does not matter.
template <class A, int levels = tree_levels>
class Tree {
 public:
  template <class F>
  __device__ void add(A value, F combine) {
    bool moves = true;
#pragma unroll
    for (int k = 0; k < levels; ++k) {
      const bool full = k + 1 < levels ? chains_ >> k & 1 : chains_ >> k != 0;
      if (moves && full) value = combine(level_[k], value);
      if (moves && (!full || k + 1 == levels)) level_[k] = value, moves = false;
    }
    ++chains_;
  }
  /// All sums and, last, that of the chain `rest`, which may be empty.
  template <class F>
  __device__ A finish(A rest, F combine) const {
#pragma unroll
    for (int k = 0; k < levels; ++k)
      if (k + 1 < levels ? chains_ >> k & 1 : chains_ >> k != 0) rest = combine(level_[k], rest);
    return rest;
  }

 private:
  A level_[levels]{};
  long chains_ = 0;
};

/// A lane of the CPU's 16, and which row of the block's this half warp has.
inline constexpr int lanes = reduce_lanes;
__device__ inline int lane_of_row() { return int(threadIdx.x) % lanes; }
__device__ inline int row_of_block() { return int(threadIdx.x) / lanes; }

/// The lanes 8 and 8, 4 and 4, 2 and 2, 1 and 1. Lane 0 has the result.
template <class A, class F>
__device__ A fold_half_warp(A value, F combine) {
#pragma unroll
  for (int half = lanes / 2; half > 0; half /= 2)
    value = combine(value, static_cast<A>(__shfl_down_sync(~0u, value, half, lanes)));
  return value;
}

/// The sum of the lanes, in all of them.
template <class A>
__device__ A sum_of_lanes(A value) {
#pragma unroll
  for (int half = lanes / 2; half > 0; half /= 2) value += __shfl_xor_sync(~0u, value, half, lanes);
  return value;
}

/// The sum of the entries first .. last - 1, at least one, as by SumTree.
template <class A, int levels = tree_levels, class F, class Entry>
__device__ A sum_of_entries(long first, long last, F combine, Entry entry) {
  Tree<A, levels> tree;
  for (long i = first;; ++i) {  // the code of an entry is there once
    const A value = entry(i);
    if (i + 1 >= last) return tree.finish(value, combine);
    tree.add(value, combine);
  }
}

/// The same by a block, `of_part` entries a part, a power of two: part p has the threads p * places .. of the block,
/// and a place of each has its own sum. The threads of part 0 have the result. `most_of_part`: a bound of `of_part`.
template <int parts, int places, class A, long most_of_part = 1l << tree_levels, class F, class Entry>
__device__ A sum_of_parts(long first, long last, long of_part, F combine, Entry entry) {
  __shared__ A values[parts * places];
  const int part = int(threadIdx.x) / places;
  const long own = first + part * of_part, existing = (last - first + of_part - 1) / of_part;
  A value{};
  if constexpr (most_of_part == 1) {
    if (part < existing) value = entry(own);
  } else {
    constexpr int levels = std::bit_width(std::size_t(most_of_part)) - 1;
    if (part < existing)
      value = sum_of_entries<A, levels>(own, own + of_part < last ? own + of_part : last, combine, entry);
  }
#pragma unroll
  for (int step = 1; step < parts; step *= 2) {
    __syncthreads();
    values[threadIdx.x] = value;
    __syncthreads();
    if (part % (2 * step) == 0 && part + step < existing)
      value = combine(value, values[int(threadIdx.x) + step * places]);
  }
  return value;
}
/// The sum of `tiles` entries that are sums of `tile` chains each, a power of two.
template <int parts, int places, int tile, class A, class F, class Entry>
__device__ A sum_of_tiles(long tiles, F combine, Entry entry) {
  constexpr long together = (1l << (tree_levels - 1)) / tile;  // what the last level takes at once
  A total{};
  for (long first = 0; first < tiles; first += together) {
    const long last = first + together < tiles ? first + together : tiles;
    long of_part = 1;
    while (of_part * parts < last - first) of_part *= 2;
    const A value = sum_of_parts<parts, places, A>(first, last, of_part, combine, entry);
    total = first == 0 ? value : combine(total, value);
  }
  return total;
}

}  // namespace tenon::kernel::cuda
TENON_EXACT_END
