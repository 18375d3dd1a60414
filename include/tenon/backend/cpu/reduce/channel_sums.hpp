// Sums of float32 images per channel, in both layouts, in the order of backend/cpu/nchw16n/layout.hpp.
#pragma once
#include <tenon/core/config.hpp>
#if TENON_DEFINES
#include <tenon/backend/cpu/nchw16n/layout.hpp>
#include <tenon/backend/cpu/reduce/sum_tree.hpp>
#endif

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::kernel {

/// Images [n, channels, pixels] of float32, row-major or NCHW16n.
struct ImageBatch {
  long n, channels, pixels;
  bool blocks;
};

/// y[c] = sum over x [n, channels, pixels], for the channels begin .. end - 1.
void channel_sums(const ImageBatch& b, const float* x, float* y, long begin, long end);
void channel_sums(const float* x, float* y, long n, long channels, long pixels, long begin, long end);
/// The same with x in NCHW16n.
void nchw16n_channel_sums(const float* x, float* y, long n, long channels, long pixels, long begin, long end);

#if TENON_DEFINES
namespace detail {
// The sum of the first `count` of 16 samples as a tree, neighbours first.
[[gnu::always_inline]] inline float sum_of_samples(float (&sample)[block_samples], long count) {
  for (long i = count; i < block_samples; ++i) sample[i] = 0;
  for (int step = 1; step < block_samples; step *= 2)
    for (int i = 0; i < block_samples; i += 2 * step) sample[i] += sample[i + step];
  return sample[0];
}

// sums[i] = the sum of the first `count` samples of vector i, as by sum_of_samples.
template <int Vectors>
[[gnu::always_inline]] inline void add_samples_of(const float (&sample)[Vectors][block_samples], long count,
                                                  float (&sums)[Vectors]) {
  using V = Simd<float, (Vectors < block_width ? Vectors : block_width)>;
  constexpr int parts = block_samples / V::width;
  for (int first = 0; first < Vectors; first += V::width) {
    V part[parts];
#pragma GCC unroll 4
    for (int k = 0; k < parts; ++k) {
      V rows[V::width];
#pragma GCC unroll 16
      for (int r = 0; r < V::width; ++r) {
        rows[r] = V::load(sample[first + r] + k * V::width);
        if ((k + 1) * V::width > count) rows[r] = live_lanes(rows[r], k * V::width, count);
      }
      part[k] = sums_of_lanes(rows);
    }
#pragma GCC unroll 4
    for (int step = 1; step < parts; step *= 2)
#pragma GCC unroll 4
      for (int k = 0; k < parts; k += 2 * step) part[k] = part[k] + part[k + step];
    part[0].store(sums + first);
  }
}

/// Channels that are added up side by side, and pixels of row-major images that are turned into vectors over samples
/// at a time.
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

// to[i] += the sums of some pixels of channel i, per sample: two chains at a time.
[[gnu::always_inline]] inline void add_pixels(const float* const (&at)[sum_channels], long pixels,
                                              double (&to)[sum_channels][block_samples]) {
  using V = Simd<double, block_width / 2>;
  constexpr int vectors = block_samples / V::width;
  for (int c = 0; c < sum_channels; c += 2) {
    V sum[2][vectors];
#pragma GCC unroll 2
    for (int i = 0; i < 2; ++i)
#pragma GCC unroll 8
      for (int v = 0; v < vectors; ++v) sum[i][v] = V::load(to[c + i] + v * V::width);
    for (long q = 0; q < pixels * block_samples; q += block_samples)
#pragma GCC unroll 2
      for (int i = 0; i < 2; ++i)
#pragma GCC unroll 8
        for (int v = 0; v < vectors; ++v)
          sum[i][v] = sum[i][v] + as_float64(Simd<float, V::width>::load(at[c + i] + q + v * V::width));
#pragma GCC unroll 2
    for (int i = 0; i < 2; ++i)
#pragma GCC unroll 8
      for (int v = 0; v < vectors; ++v) sum[i][v].store(to[c + i] + v * V::width);
  }
}
// to[i] = the sum of channel c + i, for channels of which `count` are wanted.
inline void add_channels(const ImageBatch& b, const float* x, long c, long count, float (&to)[sum_channels]) {
  using V = Simd<double, block_width / 2>;
  alignas(64) float copy[sum_channels][sum_pixels * block_samples];
  const long piece = b.blocks ? b.pixels : sum_pixels;
  LongSum<float, sum_channels, block_chain> total;
  for (long first = 0; first < b.n; first += block_samples) {
    double sums[sum_channels][block_samples]{};
    for (long p = 0; p < b.pixels; p += piece) {
      const long pixels = b.pixels - p < piece ? b.pixels - p : piece;
      const float* at[sum_channels];
      for (int i = 0; i < sum_channels; ++i)
        at[i] = sample_vectors(b, x, first / block_samples, c + (i < count ? i : 0), p, pixels, copy[i]);
      add_pixels(at, pixels, sums);
    }
    float sample[sum_channels][block_samples];
    for (int i = 0; i < sum_channels; ++i)
      for (int s = 0; s < block_samples; s += V::width) as_float32(V::load(sums[i] + s)).store(sample[i] + s);
    add_samples_of(sample, b.n - first, to);
    total.add(to);
  }
  const float* const sums = total.finish();
  for (int i = 0; i < sum_channels; ++i) to[i] = sums[i];
}

// The sums of `count` channels of a few row-major samples: too few for vectors over samples, so the chains of the
// channels go side by side.
inline constexpr int few_samples = 4, side_channels = 8;
inline void add_few_samples(const ImageBatch& b, const float* x, long c, long count, float* to) {
  float sample[side_channels][block_samples]{};
  for (long s = 0; s < b.n; ++s) {
    const float* plane[side_channels];
    double sum[side_channels]{};
    for (int i = 0; i < side_channels; ++i) plane[i] = x + (s * b.channels + c + (i < count ? i : 0)) * b.pixels;
    for (long p = 0; p < b.pixels; ++p)
#pragma GCC unroll 8
      for (int i = 0; i < side_channels; ++i) sum[i] += double(plane[i][p]);
    for (int i = 0; i < side_channels; ++i) sample[i][s] = float(sum[i]);
  }
  for (long i = 0; i < count; ++i) to[i] = 0 + sum_of_samples(sample[i], b.n);
}
}  // namespace detail

[[gnu::noinline]] TENON_INLINE void channel_sums(const ImageBatch& b, const float* x, float* y, long begin, long end) {
  const bool few = !b.blocks && b.n > 0 && b.n <= detail::few_samples;
  for (long c = begin; few && c < end; c += detail::side_channels)
    detail::add_few_samples(b, x, c, end - c < detail::side_channels ? end - c : detail::side_channels, y + c);
  for (long c = begin; !few && c < end; c += detail::sum_channels) {
    const long count = end - c < detail::sum_channels ? end - c : detail::sum_channels;
    float total[detail::sum_channels];
    detail::add_channels(b, x, c, count, total);
    for (long i = 0; i < count; ++i) y[c + i] = total[i];
  }
}
TENON_INLINE void channel_sums(const float* x, float* y, long n, long channels, long pixels, long begin, long end) {
  channel_sums({n, channels, pixels, false}, x, y, begin, end);
}
TENON_INLINE void nchw16n_channel_sums(const float* x, float* y, long n, long channels, long pixels, long begin,
                                       long end) {
  channel_sums({n, channels, pixels, true}, x, y, begin, end);
}
#endif  // TENON_DEFINES

}  // namespace tenon::kernel
TENON_EXACT_END
