// Parts of sums over the batch: what a sample adds, by lanes that have segments of it, and the sum over samples.
#pragma once
#include <bit>

#include <tenon/backend/cuda/reduce/tree.hpp>
#include <tenon/backend/cuda/sample/work.hpp>
#include <tenon/core/nchw16n.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::kernel::cuda {

/// Calls take(i, total) for i below `count`. The total is of_segment(i, 0), to which add() adds those of the other
/// segments one after the other. Segments of one i are lanes side by side, as far as a warp has lanes.
template <int segments, long count, class OfSegment, class Take>
__device__ void each_in_segments(SampleOfBatch which, OfSegment of_segment, Take take) {
  if constexpr (segments <= warp) {
    constexpr int width = int(std::bit_ceil(unsigned(segments)));
    constexpr long rounds = (count * width + sample_threads - 1) / sample_threads;
#pragma unroll 1
    for (int round = 0; round < int(rounds); ++round) {
      const int all = round * sample_threads + which.thread, i = all / width, segment = all % width;
      if (i / (warp / width) * (warp / width) >= int(count)) return;  // none of the warp has one
      const int own = i < int(count) ? i : int(count) - 1;
      const auto value = of_segment(own, segment < segments ? segment : 0);
      auto total = value;
#pragma unroll
      for (int k = 1; k < segments; ++k) total.add(value.from_lane(k, width));
      if (segment == 0 && i < int(count)) take(i, total);
    }
  } else {
    each_of_sample<count>(which, [&](int i) {
      auto total = of_segment(i, 0);
      for (int k = 1; k < segments; ++k) total.add(of_segment(i, k));
      take(i, total);
    });
  }
}

/// The sum over n samples of numbers that are `stride` apart: 16 as a tree, these blocks one after the other or, in
/// `chains`, as a tree of chains of 8 (backend/order.hpp).
template <bool chains>
__device__ float sum_of_parts_of_samples(const float* part, long stride, long n) {
  float total = 0;
  Tree<float> tree;
  long blocks = 0;
  for (long first = 0; first < n; first += block_samples) {
    float value[block_samples];
#pragma unroll
    for (int s = 0; s < block_samples; ++s) value[s] = first + s < n ? part[(first + s) * stride] : 0.0f;
#pragma unroll
    for (int step = 1; step < block_samples; step *= 2)
#pragma unroll
      for (int s = 0; s < block_samples; s += 2 * step) value[s] = value[s] + value[s + step];
    total = first > 0 || chains ? total + value[0] : value[0];
    if (chains && ++blocks % block_chain == 0) tree.add(total, Add()), total = 0;
  }
  return (chains ? tree.finish(total, Add()) : total) + 0;
}

}  // namespace tenon::kernel::cuda
TENON_EXACT_END
