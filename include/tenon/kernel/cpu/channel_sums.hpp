// Sums of float32 images per channel, in both layouts, in the order of kernel/cpu/sample_blocks.hpp.
#pragma once
#include <tenon/kernel/cpu/sample_blocks.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::kernel {

/// Images [n, channels, pixels] of float32, row-major or in blocks of samples.
struct ImageBatch {
  long n, channels, pixels;
  bool blocks;
};

namespace detail {
// The sum of the first `count` of 16 samples as a tree, neighbours first.
[[gnu::always_inline]] inline float sum_of_samples(float (&sample)[block_samples], long count) {
  for (long i = count; i < block_samples; ++i) sample[i] = 0;
  for (int step = 1; step < block_samples; step *= 2)
    for (int i = 0; i < block_samples; i += 2 * step) sample[i] += sample[i + step];
  return sample[0];
}

/// Channels whose chains hide each other's latency; pixels of row-major images that are turned into vectors over
/// samples at a time.
inline constexpr int sum_channels = 4, sum_pixels = 32;

// Pixels p .. p + count - 1 of a channel in a block of samples, as vectors over its samples. Row-major ones are copied
// to `copy`.
[[gnu::always_inline]] inline const float* sample_vectors(const ImageBatch& b, const float* x, long block, long c,
                                                          long p, long count, float* copy) {
  if (b.blocks) return x + ((block * b.channels + c) * b.pixels + p) * block_samples;
  const long first = block * block_samples, samples = b.n - first < block_samples ? b.n - first : block_samples;
  copy_matrix(x + (first * b.channels + c) * b.pixels + p, 1, b.channels * b.pixels, copy, block_samples, count,
              samples, block_samples);
  return copy;
}

// to[k][i] = sum k of channel c + i, for channels of which count are wanted, in the order of sample_blocks.hpp.
// term(sums, x, dy, i) adds a vector of x (and of dy, if there are two sums) of channel i to its sums.
template <int Sums, class Term>
[[gnu::always_inline]] inline void add_images(const ImageBatch& b, const float* x, const float* dy, long c, long count,
                                              float (&to)[Sums][sum_channels], Term term) {
  using V = Simd<float, block_width>;
  constexpr int N = sum_channels;
  alignas(64) float copy[Sums * N][sum_pixels * block_samples], sample[Sums][N][block_samples];
  const long piece = b.blocks ? b.pixels : sum_pixels;
  for (auto& row : to)
    for (float& total : row) total = 0;
  for (long first = 0; first < b.n; first += block_samples) {
    for (auto& row : sample)
      for (auto& sums : row)
        for (float& s : sums) s = 0;
    for (long p = 0; p < b.pixels; p += piece) {
      const long pixels = b.pixels - p < piece ? b.pixels - p : piece;
      const float *at[N], *gradient[N];
      for (int i = 0; i < N; ++i) {
        const long channel = c + (i < count ? i : 0);
        at[i] = sample_vectors(b, x, first / block_samples, channel, p, pixels, copy[i]);
        gradient[i] = Sums == 2
                          ? sample_vectors(b, dy, first / block_samples, channel, p, pixels, copy[(Sums - 1) * N + i])
                          : at[i];
      }
      for (int lane = 0; lane < block_samples; lane += block_width) {
        V sum[N][Sums];
#pragma GCC unroll 4
        for (int i = 0; i < N; ++i)
#pragma GCC unroll 2
          for (int k = 0; k < Sums; ++k) sum[i][k] = V::load(sample[k][i] + lane);
        for (long q = lane; q < pixels * block_samples; q += block_samples)
#pragma GCC unroll 4
          for (int i = 0; i < N; ++i) term(sum[i], V::load(at[i] + q), V::load(gradient[i] + q), i);
#pragma GCC unroll 4
        for (int i = 0; i < N; ++i)
#pragma GCC unroll 2
          for (int k = 0; k < Sums; ++k) sum[i][k].store(sample[k][i] + lane);
      }
    }
    for (int k = 0; k < Sums; ++k)
      for (int i = 0; i < N; ++i) to[k][i] += sum_of_samples(sample[k][i], b.n - first);
  }
}

// The sums of `count` channels of a few row-major samples: too few for vectors over samples, so the chains of the
// channels go side by side.
inline constexpr int few_samples = 4, side_channels = 8;
inline void add_few_samples(const ImageBatch& b, const float* x, long c, long count, float* to) {
  float sample[side_channels][block_samples]{};
  for (long s = 0; s < b.n; ++s) {
    const float* plane[side_channels];
    float sum[side_channels]{};
    for (int i = 0; i < side_channels; ++i) plane[i] = x + (s * b.channels + c + (i < count ? i : 0)) * b.pixels;
    for (long p = 0; p < b.pixels; ++p)
#pragma GCC unroll 8
      for (int i = 0; i < side_channels; ++i) sum[i] += plane[i][p];
    for (int i = 0; i < side_channels; ++i) sample[i][s] = sum[i];
  }
  for (long i = 0; i < count; ++i) to[i] = 0 + sum_of_samples(sample[i], b.n);
}
}  // namespace detail

/// y[c] = sum over x [n, channels, pixels], for the channels begin .. end - 1.
[[gnu::noinline]] inline void channel_sums(const ImageBatch& b, const float* x, float* y, long begin, long end) {
  using V = Simd<float, block_width>;
  const bool few = !b.blocks && b.n > 0 && b.n <= detail::few_samples;
  for (long c = begin; few && c < end; c += detail::side_channels)
    detail::add_few_samples(b, x, c, end - c < detail::side_channels ? end - c : detail::side_channels, y + c);
  for (long c = begin; !few && c < end; c += detail::sum_channels) {
    const long count = end - c < detail::sum_channels ? end - c : detail::sum_channels;
    float total[1][detail::sum_channels];
    detail::add_images(b, x, nullptr, c, count, total, [](V* sum, V v, V, int) { *sum = *sum + v; });
    for (long i = 0; i < count; ++i) y[c + i] = total[0][i];
  }
}
inline void channel_sums(const float* x, float* y, long n, long channels, long pixels, long begin, long end) {
  channel_sums({n, channels, pixels, false}, x, y, begin, end);
}
/// The same with x in blocks of samples.
inline void block_channel_sums(const float* x, float* y, long n, long channels, long pixels, long begin, long end) {
  channel_sums({n, channels, pixels, true}, x, y, begin, end);
}

}  // namespace tenon::kernel
TENON_EXACT_END
