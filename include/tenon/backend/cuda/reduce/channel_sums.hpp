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

/// Sums of segments: partial[plane][segment]. A thread adds up a segment, whose pixels are neighbours in memory: whole
/// rows, or a part of one. It loads 32 of them, then adds these, so that it waits once for all.
template <class C>
struct SegmentSums {
  using P = Planes<C>;
  static constexpr int threads = warp, quads = 8;  // few threads: segments are few
  // Every segment begins at a multiple of 16 bytes.
  static constexpr bool aligned = P::height * P::width % 4 == 0 && P::segment.rows * P::width % 4 == 0 &&
                                  (P::across == 1 || P::segment.columns % 4 == 0);
  struct alignas(16) Quad {
    float pixel[4];
  };

  static long count(long n) { return n * P::channels * P::segments; }
  static long blocks(long n) { return blocks_for(count(n), threads); }
  __device__ static void block(const Arguments& a) {
    constexpr PixelSegments s = P::segment;
    constexpr long segments = P::segments, across = P::across, height = P::height, width = P::width;
    const long own = thread_of_grid();
    if (own >= a.n * P::channels * segments) return;
    const long down = own % segments / across * s.rows, right = own % segments % across * s.columns,
               rows = height - down < s.rows ? height - down : s.rows,
               columns = width - right < s.columns ? width - right : s.columns;
    const float* const x = a.operand<float>(0) + own / segments * height * width + down * width + right;
    const bool in_quads = aligned && reinterpret_cast<std::uintptr_t>(x) % sizeof(Quad) == 0;
    reinterpret_cast<float*>(a.workspace)[own] =
        float(in_quads ? sum_of<true>(x, rows * columns) : sum_of<false>(x, rows * columns));
  }

 private:
  template <bool in_quads>
  __device__ static double sum_of(const float* x, long pixels) {
    double sum = 0;
    long p = 0;
    for (; p + 4 * quads <= pixels; p += 4 * quads) {
      Quad loaded[quads];
#pragma unroll
      for (int q = 0; q < quads; ++q) {
        if constexpr (in_quads) loaded[q] = reinterpret_cast<const Quad*>(x + p)[q];
        else {
#pragma unroll
          for (int i = 0; i < 4; ++i) loaded[q].pixel[i] = x[p + 4 * q + i];
        }
      }
#pragma unroll
      for (int q = 0; q < quads; ++q)
#pragma unroll
        for (int i = 0; i < 4; ++i) sum += double(loaded[q].pixel[i]);
    }
    for (; p < pixels; ++p) sum += double(x[p]);
    return sum;
  }
};

/// The sum of a value over the 16 samples of a half warp's lanes, neighbours first, in all lanes.
__device__ inline float sum_of_samples(float sample) {
#pragma unroll
  for (int step = 1; step < lanes; step *= 2) sample += __shfl_xor_sync(~0u, sample, step, lanes);
  return sample;
}
/// The sum of what of_sample(s) gives for samples s = 0 .. n - 1, in all threads of a block: blocks of 16 samples in
/// chains of 8. The block has at least `samples_at_once` threads.
inline constexpr int samples_at_once = 256;
template <class Sample>
__device__ float sum_over_samples(long n, Sample of_sample) {
  constexpr int blocks = samples_at_once / lanes;
  static_assert(blocks % block_chain == 0);
  __shared__ float of_block[blocks];
  Tree<float> tree;
  float chain = 0;
  for (long first = 0; first < n; first += samples_at_once) {
    const long sample = first + threadIdx.x;
    const bool takes = threadIdx.x < samples_at_once;
    const float own = sum_of_samples(takes && sample < n ? of_sample(sample) : 0.0f);
    __syncthreads();
    if (takes && lane_of_row() == 0) of_block[row_of_block()] = own;
    __syncthreads();
#pragma unroll
    for (int b = 0; b < blocks; ++b) {
      if (first + b * lanes < n) chain += of_block[b];
      if ((b + 1) % block_chain == 0 && first + b * lanes < n) tree.add(chain, Add()), chain = 0;
    }
  }
  return tree.finish(chain, Add()) + 0;
}
/// y[channel]: a block per channel.
template <class C>
struct SampleSums {
  using P = Planes<C>;
  static constexpr int threads = samples_at_once;
  static long blocks(long) { return P::channels; }
  __device__ static void block(const Arguments& a) {
    constexpr long channels = P::channels, segments = P::segments;
    const long c = blockIdx.x;
    const float total = sum_over_samples(a.n, [&](long sample) {
      const float* const sums = reinterpret_cast<const float*>(a.workspace) + (sample * channels + c) * segments;
      return segments > 0 ? sum_of_entries<float>(0, segments, Add(), [=](long s) { return sums[s]; }) : 0.0f;
    });
    if (threadIdx.x == 0) a.result<float>()[c] = total;
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
