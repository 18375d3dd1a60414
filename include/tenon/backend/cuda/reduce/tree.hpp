// Sums of chains as a tree in registers, and sums in 16 lanes: the order of the CPU's SumTree, a half warp per row.
#pragma once
#include <tenon/backend/cuda/device.hpp>
#include <tenon/backend/order.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::kernel::cuda {

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
  /// The sum of exactly 2^(levels - 1) chains.
  __device__ A whole() const { return level_[levels - 1]; }

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

/// Where a reduction that is shared by several threads or blocks is cut: chains first .. first + count - 1 of `chains`
/// whole ones; the part that ends with the last one has the rest, too.
struct ChainPart {
  long first, count;
  bool exists, has_rest;
};
__device__ inline ChainPart chain_part(long part, long size, long chains) {
  const long first = part * size, left = chains - first;
  return {first, left < size ? left : size, left >= 0, left >= 0 && left < size};
}
/// The sum of a part of at most 2^(levels - 1) chains.
template <class A, int levels, class F, class Chain, class Rest>
__device__ A sum_of_part(const ChainPart& part, F combine, Chain chain, Rest rest) {
  Tree<A, levels> tree;
  for (long c = part.first; c < part.first + part.count; ++c) tree.add(chain(c), combine);
  return part.has_rest ? tree.finish(rest(), combine) : tree.whole();
}

/// Combines the values of the parts of a block, as a tree, neighbours first: `values` in shared memory has room for
/// `threads` of them, part p of a sum is `stride` values after part p - 1. Part 0 has the result.
template <int parts, int stride, class A, class F>
__device__ A combine_parts(A* values, int part, int place, A value, long existing, F combine) {
#pragma unroll
  for (int step = 1; step < parts; step *= 2) {
    __syncthreads();
    values[part * stride + place] = value;
    __syncthreads();
    if (part % (2 * step) == 0 && part + step < existing)
      value = combine(value, values[(part + step) * stride + place]);
  }
  return value;
}

}  // namespace tenon::kernel::cuda
TENON_EXACT_END
