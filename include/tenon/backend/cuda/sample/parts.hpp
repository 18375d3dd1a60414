// Parts of sums over the batch: what a sample adds, by lanes that have segments of it, and the sum over samples.
#pragma once
#include <bit>

#include <tenon/backend/cuda/async_copy.hpp>
#include <tenon/backend/cuda/cluster.hpp>
#include <tenon/backend/cuda/epilogue.hpp>
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
  __device__ StripSums from_lane(int lane) const {
    StripSums other;
#pragma unroll
    for (int q = 0; q < count; ++q) other.sum[q] = __shfl_sync(~0u, sum[q], lane);
    return other;
  }
};

/// Puts `length` neighbours of a result, of which `left` are there, from element `first` of `channel` on: value(q). If
/// blocks share the step, each of them gets them.
template <class C, int length, class Value>
__device__ void put_results(const Arguments& a, SampleOfBatch which, int first, int left, int channel, Value value) {
  float* const own = a.result<float>() + first;
  float result[length];
#pragma unroll
  for (int q = 0; q < length; ++q)
    if (q < left) own[q] = result[q] = finished<C>(a, first + q, channel, value(q));
  if (!which.gives) return;
#pragma unroll 1
  for (int k = 1; k < which.ranks; ++k) {
    const int other = which.rank + k;
    float* const to = in_block_of_cluster(own, other < which.ranks ? other : other - which.ranks);
#pragma unroll
    for (int q = 0; q < length; ++q)
      if (q < left) to[q] = result[q];
  }
}

/// Lanes that have the segments of one sum: the same places in as many parts of a warp, so that lanes side by side read
/// of one segment.
template <int segments>
struct SegmentLanes {
  static constexpr int width = segments <= warp ? int(std::bit_ceil(unsigned(segments))) : 1, sums = warp / width;
  /// Of thread `all`, counted through the warps of all turns: which sum, which segment.
  __device__ static int sum_of(int all) { return all / warp * sums + all % sums; }
  __device__ static int segment_of(int all) { return all % warp / sums; }
  __device__ static int lane_of(int all, int segment) { return all % sums + segment * sums; }
};
/// Calls take(i, total) for those i below `count` that this block computes. The total is of_segment(i, 0), to which
/// add() adds those of the other segments one after the other. Segments of one i are lanes of a warp, as far as it has
/// lanes.
template <int segments, long count, class OfSegment, class Take>
__device__ void each_in_segments(SampleOfBatch which, OfSegment of_segment, Take take) {
  if constexpr (segments <= warp) {
    using Lanes = SegmentLanes<segments>;
    const int begin = which.begin(int(count)), end = which.end(int(count));
#pragma unroll 1
    for (int all = which.thread;; all += sample_threads) {
      if (begin + all / warp * Lanes::sums >= end) return;  // none of the warp has one
      const int i = begin + Lanes::sum_of(all), segment = Lanes::segment_of(all);
      const int own = i < end ? i : end - 1;
      const auto value = of_segment(own, segment < segments ? segment : 0);
      auto total = value;
#pragma unroll
      for (int k = 1; k < segments; ++k) total.add(value.from_lane(Lanes::lane_of(all, k)));
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
