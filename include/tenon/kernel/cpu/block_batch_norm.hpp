// Batch normalization of float32 images: statistics and gradient sums per channel, in both layouts and the same bits.
#pragma once
#include <tenon/kernel/cpu/blocks.hpp>
#include <tenon/kernel/cpu/channel_sums.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::kernel {

/// mean[c], and deviation[c] = the sum of (x - mean[c])^2, for the channels begin .. end - 1. x: [n, channels, pixels]
[[gnu::noinline]] inline void image_statistics(const ImageBatch& b, const float* x, float* mean, float* deviation,
                                               long begin, long end) {
  using V = Simd<float, block_width>;
  const float elements = float(b.n * b.pixels);
  for (long c = begin; c < end; c += detail::sum_channels) {
    const long count = end - c < detail::sum_channels ? end - c : detail::sum_channels;
    channel_sums(b, x, mean, c, c + count);
    float total[1][detail::sum_channels];
    V average[detail::sum_channels];
    for (long i = 0; i < count; ++i) mean[c + i] = mean[c + i] / elements;
    for (int i = 0; i < detail::sum_channels; ++i) average[i] = V(mean[c + (i < count ? i : 0)]);
    detail::add_images(b, x, nullptr, c, count, total, [&average](V* sum, V v, V, int i) {
      const V distance = v - average[i];
      *sum = *sum + distance * distance;
    });
    for (long i = 0; i < count; ++i) deviation[c + i] = total[0][i];
  }
}

/// sum[c] = the sum of dy, and product[c] = the sum of dy (x - mean[c]), for the channels begin .. end - 1.
[[gnu::noinline]] inline void image_gradient_sums(const ImageBatch& b, const float* x, const float* dy,
                                                  const float* mean, float* sum, float* product, long begin, long end) {
  using V = Simd<float, block_width>;
  for (long c = begin; c < end; c += detail::sum_channels) {
    const long count = end - c < detail::sum_channels ? end - c : detail::sum_channels;
    float total[2][detail::sum_channels];
    V average[detail::sum_channels];
    for (int i = 0; i < detail::sum_channels; ++i) average[i] = V(mean[c + (i < count ? i : 0)]);
    detail::add_images(b, x, dy, c, count, total, [&average](V* sums, V v, V gradient, int i) {
      sums[0] = sums[0] + gradient;
      sums[1] = sums[1] + gradient * (v - average[i]);
    });
    for (long i = 0; i < count; ++i) sum[c + i] = total[0][i], product[c + i] = total[1][i];
  }
}

}  // namespace tenon::kernel
TENON_EXACT_END
