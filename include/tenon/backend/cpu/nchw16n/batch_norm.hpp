// Batch normalization of float32 images: statistics and gradient sums per channel, in both layouts and the same bits.
#pragma once
#include <tenon/backend/cpu/reduce/channel_sums.hpp>
#if TENON_DEFINES
#include <cstring>

#include <tenon/backend/cpu/elementwise/unrolled.hpp>
#include <tenon/backend/cpu/reduce/accumulation_order.hpp>
#endif

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::kernel {

/// mean[c], and deviation[c] = the sum of (x - mean[c])^2, for the channels begin .. end - 1. x: [n, channels, pixels]
void image_statistics(const ImageBatch& b, const float* x, float* mean, float* deviation, long begin, long end);

/// sum[c] = the sum of dy, and product[c] = the sum of dy (x - mean[c]), for the channels begin .. end - 1.
void image_gradient_sums(const ImageBatch& b, const float* x, const float* dy, const float* mean, float* sum,
                         float* product, long begin, long end);

#if TENON_DEFINES
namespace detail {
// Pixels of row-major images that are turned into vectors over samples at a time.
inline constexpr int sum_pixels = 32;

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

// What `count` pixels of some channels add up to per sample: a tree of up to 4 chains of 8 pixels. term(sums, x, dy, i)
// adds a vector of x (and of dy, if there are two operands) of channel i to its sums.
template <int Sums, class Term>
[[gnu::always_inline]] inline void add_piece(const float* const (&x)[sum_channels],
                                             const float* const (&dy)[sum_channels], long count,
                                             float (&to)[Sums * sum_channels][block_samples], Term term) {
  using V = Simd<float, block_width>;
  constexpr int N = sum_channels;
  for (int lane = 0; lane < block_samples; lane += block_width) {
    const auto add_chain = [&](V(&sum)[N][Sums], long first) __attribute__((always_inline)) {
      const long end = count < first + lane_chain ? count : first + lane_chain;
#pragma GCC unroll 4
      for (int i = 0; i < N; ++i)
#pragma GCC unroll 2
        for (int s = 0; s < Sums; ++s) sum[i][s] = V(0.0f);
      for (long q = first * block_samples + lane; q < end * block_samples; q += block_samples)
#pragma GCC unroll 4
        for (int i = 0; i < N; ++i) term(sum[i], V::load(x[i] + q), V::load(dy[i] + q), i);
    };
    const auto join = [](V(&sum)[N][Sums], const V(&other)[N][Sums]) __attribute__((always_inline)) {
#pragma GCC unroll 4
      for (int i = 0; i < N; ++i)
#pragma GCC unroll 2
        for (int s = 0; s < Sums; ++s) sum[i][s] = sum[i][s] + other[i][s];
    };
    V total[N][Sums];
    for (long first = 0; first < count; first += 2 * lane_chain) {
      V pair[N][Sums], second[N][Sums];
      add_chain(pair, first);
      if (first + lane_chain < count) add_chain(second, first + lane_chain), join(pair, second);
      if (first > 0) join(pair, total);
#pragma GCC unroll 4
      for (int i = 0; i < N; ++i)
#pragma GCC unroll 2
        for (int s = 0; s < Sums; ++s) total[i][s] = pair[i][s];
    }
#pragma GCC unroll 4
    for (int i = 0; i < N; ++i)
#pragma GCC unroll 2
      for (int s = 0; s < Sums; ++s) total[i][s].store(to[s * N + i] + lane);
  }
}

// to[s][i] = sum s of channel c + i, for channels of which `count` are wanted: each sample in pieces of 32 pixels that
// are added up as by SumTree, then as nchw16n/layout.hpp says.
template <int Sums, class Term>
[[gnu::always_inline]] inline void add_images(const ImageBatch& b, const float* x, const float* dy, long c, long count,
                                              float (&to)[Sums][sum_channels], Term term) {
  constexpr int N = sum_channels;
  alignas(64) float copy[2][N][sum_pixels * block_samples], sample[Sums * N][block_samples];
  LongSum<float, Sums * N, block_chain> total;
  for (long first = 0; first < b.n; first += block_samples) {
    SumTree<float, Sums * N * block_samples> tree;
    if (b.pixels == 0) std::memset(sample, 0, sizeof sample);
    for (long p = 0; p < b.pixels; p += sum_pixels) {
      const long pixels = b.pixels - p < sum_pixels ? b.pixels - p : sum_pixels;
      const float *at[N], *gradient[N];
      for (int i = 0; i < N; ++i) {
        const long channel = c + (i < count ? i : 0);
        at[i] = sample_vectors(b, x, first / block_samples, channel, p, pixels, copy[0][i]);
        gradient[i] = dy ? sample_vectors(b, dy, first / block_samples, channel, p, pixels, copy[1][i]) : at[i];
      }
      if (p > 0) tree.add(sample[0]);
      add_piece<Sums>(at, gradient, pixels, sample, term);
    }
    if (!tree.empty()) tree.finish(sample[0]);
    float block[Sums * N];
    add_samples_of(sample, b.n - first, block);
    total.add(block);
  }
  const float* const sums = total.finish();
  for (int s = 0; s < Sums; ++s)
    for (int i = 0; i < N; ++i) to[s][i] = sums[s * N + i];
}
}  // namespace detail

[[gnu::noinline]] TENON_INLINE void image_statistics(const ImageBatch& b, const float* x, float* mean, float* deviation,
                                                     long begin, long end) {
  using V = Simd<float, block_width>;
  const float elements = float(b.n * b.pixels);
  for (long c = begin; c < end; c += detail::sum_channels) {
    const long count = end - c < detail::sum_channels ? end - c : detail::sum_channels;
    float total[1][detail::sum_channels], sums[2][detail::sum_channels], rounded[detail::sum_channels];
    V average[detail::sum_channels];
    detail::add_images(b, x, nullptr, c, count, total, [](V* sum, V v, V, int) { *sum = *sum + v; });
    for (int i = 0; i < detail::sum_channels; ++i) rounded[i] = total[0][i] / elements, average[i] = V(rounded[i]);
    detail::add_images(b, x, nullptr, c, count, sums, [&average](V* sum, V v, V, int i) {
      const V distance = v - average[i];
      sum[0] = sum[0] + distance;
      sum[1] = fmadd(distance, distance, sum[1]);
    });
    for (long i = 0; i < count; ++i) {
      const auto moments = corrected_moments(rounded[i], sums[0][i], sums[1][i], elements);
      mean[c + i] = moments.mean, deviation[c + i] = moments.deviation;
    }
  }
}

[[gnu::noinline]] TENON_INLINE void image_gradient_sums(const ImageBatch& b, const float* x, const float* dy,
                                                        const float* mean, float* sum, float* product, long begin,
                                                        long end) {
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
#endif  // TENON_DEFINES

}  // namespace tenon::kernel
TENON_EXACT_END
