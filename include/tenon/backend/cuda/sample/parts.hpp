// Parts of sums over the batch: what a sample adds, by lanes that have segments of it, and the sum over samples.
#pragma once
#include <bit>

#include <tenon/backend/cuda/async_copy.hpp>
#include <tenon/backend/cuda/reduce/tree.hpp>
#include <tenon/backend/cuda/sample/work.hpp>
#include <tenon/core/nchw16n.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::kernel::cuda {

/// Sums that a thread has side by side, of a segment or of several.
template <int count>
struct StripSums {
  float sum[count]{};

  __device__ void add(const StripSums& next) {
#pragma unroll
    for (int q = 0; q < count; ++q) sum[q] = sum[q] + next.sum[q];
  }
  __device__ StripSums from_lane(int lane, int width) const {
    StripSums other;
#pragma unroll
    for (int q = 0; q < count; ++q) other.sum[q] = __shfl_sync(~0u, sum[q], lane, width);
    return other;
  }
};

/// Calls take(i, total) for those i below `count` that this block computes. The total is of_segment(i, 0), to which
/// add() adds those of the other segments one after the other. Segments of one i are lanes side by side, as far as a
/// warp has lanes.
template <int segments, long count, class OfSegment, class Take>
__device__ void each_in_segments(SampleOfBatch which, OfSegment of_segment, Take take) {
  if constexpr (segments <= warp) {
    constexpr int width = int(std::bit_ceil(unsigned(segments)));
    const int begin = which.begin(int(count)), end = which.end(int(count));
#pragma unroll 1
    for (int all = which.thread;; all += sample_threads) {
      if (begin + all / warp * (warp / width) >= end) return;  // none of the warp has one
      const int i = begin + all / width, segment = all % width;
      const int own = i < end ? i : end - 1;
      const auto value = of_segment(own, segment < segments ? segment : 0);
      auto total = value;
#pragma unroll
      for (int k = 1; k < segments; ++k) total.add(value.from_lane(k, width));
      if (segment == 0 && i < end) take(i, total);
    }
  } else {
    each_of_block<count>(which, [&](int i) {
      auto total = of_segment(i, 0);
      for (int k = 1; k < segments; ++k) total.add(of_segment(i, k));
      take(i, total);
    });
  }
}

/// The sum over n samples of numbers that are `stride` apart: 16 as a tree, these blocks one after the other or, in
/// `chains`, as a tree of chains of 8 (backend/order.hpp). Numbers of several blocks are on their way together.
template <bool chains>
__device__ float sum_of_parts_of_samples(const float* part, long stride, long n) {
  float total = 0;
  Tree<float> tree;
  long blocks = 0;
  const auto add = [&](const float* value) {
    float sum[block_samples];
#pragma unroll
    for (int s = 0; s < block_samples; ++s) sum[s] = value[s];
#pragma unroll
    for (int step = 1; step < block_samples; step *= 2)
#pragma unroll
      for (int s = 0; s < block_samples; s += 2 * step) sum[s] = sum[s] + sum[s + step];
    total = blocks > 0 || chains ? total + sum[0] : sum[0];
    if (++blocks % block_chain == 0 && chains) tree.add(total, Add()), total = 0;
  };
  constexpr int together = 4 * block_samples;
  long first = 0;
#pragma unroll 1
  for (; first + together <= n; first += together) {
    float value[together];
#pragma unroll
    for (int s = 0; s < together; ++s) value[s] = part[(first + s) * stride];
    wait_for_loads();
#pragma unroll
    for (int block = 0; block < together; block += block_samples) add(value + block);
  }
#pragma unroll 1
  for (; first < n; first += block_samples) {
    float value[block_samples];
#pragma unroll
    for (int s = 0; s < block_samples; ++s) value[s] = first + s < n ? part[(first + s) * stride] : 0.0f;
    add(value);
  }
  return (chains ? tree.finish(total, Add()) : total) + 0;
}

}  // namespace tenon::kernel::cuda
TENON_EXACT_END
