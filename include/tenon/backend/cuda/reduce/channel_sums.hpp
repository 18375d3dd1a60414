// Sums of float32 images per channel (backend/order.hpp, "sums of images").
#pragma once
#include <tenon/backend/cuda/reduce/tree.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::kernel::cuda {

/// The segments of a plane of operand 0 of C, [n, channels, height, width].
template <class C>
struct Planes {
  static constexpr long channels = C::operand(0)[1], height = C::operand(0)[2], width = C::operand(0)[3];
  static constexpr PixelSegments segment = pixel_segments(height, width);
  static constexpr long across = segment.columns ? (width + segment.columns - 1) / segment.columns : 0,
                        down = segment.rows ? (height + segment.rows - 1) / segment.rows : 0, segments = across * down;
};

/// Sums of segments: partial[plane][segment]. A thread adds up a segment; its warp reads 32 pixels of each of its 32
/// segments at a time into shared memory, so that neighbouring threads read neighbouring pixels.
template <class C>
struct SegmentSums {
  using P = Planes<C>;
  static constexpr int threads = 128, pitch = warp + 1;
  static long count(long n) { return n * P::channels * P::segments; }
  static long blocks(long n) { return blocks_for(count(n), threads); }
  __device__ static void block(const Arguments& a) {
    constexpr PixelSegments s = P::segment;
    constexpr long segments = P::segments, across = P::across, height = P::height, width = P::width;
    __shared__ float staged[threads * pitch];
    const int lane = int(threadIdx.x) % warp, first_thread = int(threadIdx.x) - lane;
    float* const own_pixels = staged + first_thread * pitch;
    const long all = a.n * P::channels * segments, first = long(blockIdx.x) * threads + first_thread;
    const auto start_of = [&](long index) {
      const long in_plane = index % segments;
      return index / segments * height * width + in_plane / across * s.rows * width + in_plane % across * s.columns;
    };
    const auto pixels_of = [&](long index) {
      if (index >= all) return 0l;
      const long down = index % segments / across * s.rows, right = index % segments % across * s.columns,
                 rows = height - down < s.rows ? height - down : s.rows,
                 columns = width - right < s.columns ? width - right : s.columns;
      return rows * columns;  // whole rows, or a part of one: neighbours in memory
    };
    const long own = first + lane, pixels = pixels_of(own);
    double sum = 0;
    for (long p = 0; p < s.rows * s.columns; p += warp) {
      for (int other = 0; other < warp; ++other)
        if (p + lane < pixels_of(first + other))
          own_pixels[other * pitch + lane] = a.operand<float>(0)[start_of(first + other) + p + lane];
      __syncwarp();
      for (int q = 0; q < warp && p + q < pixels; ++q) sum += double(own_pixels[lane * pitch + q]);
      __syncwarp();
    }
    if (own < all) reinterpret_cast<float*>(a.workspace)[own] = float(sum);
  }
};

/// The sum of a value over the 16 samples of a half warp's lanes, neighbours first, in all lanes.
__device__ inline float sum_of_samples(float sample) {
#pragma unroll
  for (int step = 1; step < lanes; step *= 2) sample += __shfl_xor_sync(~0u, sample, step, lanes);
  return sample;
}
/// The sum of what of_sample(s) gives for samples s = 0 .. n - 1, for a half warp: blocks of 16 in chains of 8.
template <class Sample>
__device__ float sum_over_samples(long n, Sample of_sample) {
  Tree<float> tree;
  float chain = 0;
  for (long first = 0, in_chain = 0; first < n; first += lanes) {
    const long sample = first + lane_of_row();
    chain += sum_of_samples(sample < n ? of_sample(sample) : 0.0f);
    if (++in_chain == block_chain) tree.add(chain, Add()), chain = 0, in_chain = 0;
  }
  return tree.finish(chain, Add()) + 0;
}
/// y[channel]: a half warp per channel.
template <class C>
struct SampleSums {
  using P = Planes<C>;
  static constexpr int threads = 128;
  static long blocks(long) { return blocks_for(P::channels, threads / lanes); }
  __device__ static void block(const Arguments& a) {
    constexpr long channels = P::channels, segments = P::segments;
    const long own = thread_of_grid() / lanes, c = own < channels ? own : channels - 1;
    const float total = sum_over_samples(a.n, [&](long sample) {
      const float* const sums = reinterpret_cast<const float*>(a.workspace) + (sample * channels + c) * segments;
      return segments > 0 ? sum_of_entries<float>(0, segments, Add(), [=](long s) { return sums[s]; }) : 0.0f;
    });
    if (own < channels && lane_of_row() == 0) a.result<float>()[c] = total;
  }
};

template <class C>
constexpr long channel_sums_workspace(long n) {
  return n * Planes<C>::channels * Planes<C>::segments * long(sizeof(float));
}
template <class C>
void sum_channels(const Arguments& a) {
  launch_blocks<SegmentSums<C>>(a);
  launch_blocks<SampleSums<C>>(a);
}

}  // namespace tenon::kernel::cuda
TENON_EXACT_END
