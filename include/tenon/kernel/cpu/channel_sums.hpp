// Sums of float32 images per channel, in both layouts, in the order of kernel/cpu/sample_blocks.hpp.
#pragma once
#include <tenon/kernel/cpu/sample_blocks.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::kernel {

namespace detail {
// The sum of 16 samples as a tree, neighbours first.
[[gnu::always_inline]] inline float sum_of_samples(float (&sample)[block_samples]) {
  for (int step = 1; step < block_samples; step *= 2)
    for (int i = 0; i < block_samples; i += 2 * step) sample[i] += sample[i + step];
  return sample[0];
}
}  // namespace detail

/// y[c] = sum over x [n, channels, pixels], for the channels begin .. end - 1.
[[gnu::noinline]] inline void channel_sums(const float* x, float* y, long n, long channels, long pixels, long begin, long end) {
  for (long c = begin; c < end; ++c) {
    float total = 0;
    for (long first = 0; first < n; first += block_samples) {
      float sample[block_samples]{};
      for (long s = first; s < first + block_samples && s < n; ++s) {
        const float* const plane = x + (s * channels + c) * pixels;
        for (long p = 0; p < pixels; ++p) sample[s - first] += plane[p];
      }
      total += detail::sum_of_samples(sample);
    }
    y[c] = total;
  }
}

/// The same with x in blocks of samples.
[[gnu::noinline]] inline void block_channel_sums(const float* x, float* y, long n, long channels, long pixels, long begin, long end) {
  using V = Simd<float, block_width>;
  constexpr int together = 4;  // channels, whose chains hide the latency of an addition
  for (long c = begin; c < end; c += together) {
    const long count = end - c < together ? end - c : together;
    float total[together]{};
    for (long first = 0; first < n; first += block_samples) {
      float sample[together][block_samples];
      for (int lane = 0; lane < block_samples; lane += block_width) {
        const float* plane[together];
        V sum[together];
        for (int i = 0; i < together; ++i) plane[i] = x + (first / block_samples * channels + c + (i < count ? i : 0)) * pixels * block_samples + lane, sum[i] = V(0.0f);
        for (long p = 0; p < pixels * block_samples; p += block_samples)
#pragma GCC unroll 4
          for (int i = 0; i < together; ++i) sum[i] = sum[i] + V::load(plane[i] + p);
        for (int i = 0; i < together; ++i) live_lanes(sum[i], lane, n - first).store(sample[i] + lane);
      }
      for (int i = 0; i < together; ++i) total[i] += detail::sum_of_samples(sample[i]);
    }
    for (long i = 0; i < count; ++i) y[c + i] = total[i];
  }
}

}  // namespace tenon::kernel
TENON_EXACT_END
