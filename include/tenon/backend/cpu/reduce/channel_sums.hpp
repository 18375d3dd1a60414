// Sums of float32 images per channel, in both layouts, in the order of backend/order.hpp.
#pragma once
#include <tenon/core/config.hpp>
#if TENON_DEFINES || defined(TENON_EMBEDDED)
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

/// y[c] = sum over x [n, channels, pixels], for the channels begin .. end - 1. width: of the rows of pixels, where
/// segments end.
void channel_sums(const ImageBatch& b, long width, const float* x, float* y, long begin, long end);

#if TENON_DEFINES || defined(TENON_EMBEDDED)
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

/// Channels of NCHW16n images that are added up side by side.
inline constexpr int sum_channels = 4;

// to[i] = the sums per sample of plane i of a block, two at a time: their chains do not wait for each other.
[[gnu::noinline]] inline void add_block_planes(const float* const (&plane)[2], const PixelSegments& segments,
                                               float* to) {
  using V = Simd<double, block_width / 2>;
  constexpr int vectors = block_samples / V::width;
  SumTree<float, 2 * block_samples> tree;
  const long pixels = segments.height * segments.width;
  for (long p = 0, end; p < pixels; p = end) {
    end = segments.end(p);
    if (p > 0) tree.add(to);
    V sum[2][vectors];
#pragma GCC unroll 2
    for (int i = 0; i < 2; ++i)
#pragma GCC unroll 8
      for (int v = 0; v < vectors; ++v) sum[i][v] = V(0.0);
    for (long q = p * block_samples; q < end * block_samples; q += block_samples)
#pragma GCC unroll 2
      for (int i = 0; i < 2; ++i)
#pragma GCC unroll 8
        for (int v = 0; v < vectors; ++v)
          sum[i][v] = sum[i][v] + as_float64(Simd<float, V::width>::load(plane[i] + q + v * V::width));
#pragma GCC unroll 2
    for (int i = 0; i < 2; ++i)
#pragma GCC unroll 8
      for (int v = 0; v < vectors; ++v) as_float32(sum[i][v]).store(to + i * block_samples + v * V::width);
  }
  if (!tree.empty()) tree.finish(to);
}
// to[i] = the sum of channel c + i, for channels of which `count` are wanted, in NCHW16n.
[[gnu::noinline]] inline void add_block_channels(const ImageBatch& b, const PixelSegments& segments, const float* x,
                                                 long c, long count, float (&to)[sum_channels]) {
  LongSum<float, sum_channels, block_chain> total;
  for (long first = 0; first < b.n; first += block_samples) {
    alignas(64) float sample[sum_channels][block_samples]{};
    const auto plane = [&](int i) {
      return x + (first / block_samples * b.channels + c + (i < count ? i : 0)) * b.pixels * block_samples;
    };
    for (int i = 0; i < sum_channels; i += 2) add_block_planes({plane(i), plane(i + 1)}, segments, sample[i]);
    add_samples_of(sample, b.n - first, to);
    total.add(to);
  }
  const float* const sums = total.finish();
  for (int i = 0; i < sum_channels; ++i) to[i] = sums[i];
}

// Row-major planes that are added up side by side, as lanes: squares of pixels are transposed in registers.
inline constexpr int side_channels = simd_width<float> < 8 ? simd_width<float> : 8;
template <int side>
[[gnu::noinline]] void add_planes(const float* const (&plane)[side], const PixelSegments& segments, float (&to)[side]) {
  constexpr int width = simd_width<double> < side ? simd_width<double> : side;
  using V = Simd<float, side>;
  using D = Simd<double, width>;
  SumTree<float, side> tree;
  const long pixels = segments.height * segments.width;
  for (long p = 0, end; p < pixels; p = end) {
    end = segments.end(p);
    if (p > 0) tree.add(to);
    D low(0.0);
    [[maybe_unused]] D high(0.0);
    long q = p;
    for (; q + side <= end; q += side) {
      V square[side];
#pragma GCC unroll 8
      for (int i = 0; i < side; ++i) square[i] = V::load(plane[i] + q);
      transpose_lanes(square);
#pragma GCC unroll 8
      for (int i = 0; i < side; ++i)
        if constexpr (width == side) low = low + as_float64(square[i]);
        else low = low + as_float64(lower_half(square[i])), high = high + as_float64(upper_half(square[i]));
    }
    double sum[side];
    low.store(sum);
    if constexpr (width < side) high.store(sum + width);
    for (; q < end; ++q)
      for (int i = 0; i < side; ++i) sum[i] += double(plane[i][q]);
    for (int i = 0; i < side; ++i) to[i] = float(sum[i]);
  }
  if (!tree.empty()) tree.finish(to);
}
// As add_block_channels, row-major.
[[gnu::noinline]] inline void add_row_channels(const ImageBatch& b, const PixelSegments& segments, const float* x,
                                               long c, long count, float (&to)[side_channels]) {
  LongSum<float, side_channels, block_chain> total;
  for (long first = 0; first < b.n; first += block_samples) {
    const long samples = b.n - first < block_samples ? b.n - first : block_samples;
    float sample[side_channels][block_samples]{};
    for (long s = 0; s < samples; ++s) {
      const float* plane[side_channels];
      for (int i = 0; i < side_channels; ++i)
        plane[i] = x + ((first + s) * b.channels + c + (i < count ? i : 0)) * b.pixels;
      add_planes(plane, segments, to);
      for (int i = 0; i < side_channels; ++i) sample[i][s] = to[i];
    }
    add_samples_of(sample, samples, to);
    total.add(to);
  }
  const float* const sums = total.finish();
  for (int i = 0; i < side_channels; ++i) to[i] = sums[i];
}
}  // namespace detail

[[gnu::noinline]] TENON_INLINE void channel_sums(const ImageBatch& b, long width, const float* x, float* y, long begin,
                                                 long end) {
  const PixelSegments segments = pixel_segments(b.pixels / (width > 0 ? width : 1), width);
  const auto add = [&]<int channels>(void (*sum)(const ImageBatch&, const PixelSegments&, const float*, long, long,
                                                 float(&)[channels])) {
    for (long c = begin; c < end; c += channels) {
      const long count = end - c < channels ? end - c : channels;
      float total[channels]{};
      sum(b, segments, x, c, count, total);
      for (long i = 0; i < count; ++i) y[c + i] = total[i];
    }
  };
  if (b.blocks) add(&detail::add_block_channels);
  else add(&detail::add_row_channels);
}
#endif  // TENON_DEFINES

}  // namespace tenon::kernel
TENON_EXACT_END
