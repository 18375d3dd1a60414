// The layout NCHW16n, blocks of 16 samples: packing, unpacking, and the order in which samples are added up.
#pragma once
#include <tenon/core/nchw16n.hpp>
#include <tenon/core/simd/simd.hpp>
#if TENON_DEFINES || defined(TENON_EMBEDDED)
#include <tenon/backend/cpu/gemm/pack.hpp>
#endif

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::kernel {

/// Packs the blocks [begin, end) of x [n, features] into y; samples from n on become 0.
void pack_samples(const float* x, float* y, long n, long features, long begin, long end);
/// The way back: y [n, features] from the blocks [begin, end) of x.
void unpack_samples(const float* x, float* y, long n, long features, long begin, long end);

// How a sum over the batch adds up float32 images, in both layouts: first each sample for itself (backend/order.hpp);
// then the 16 samples of a block as a tree, neighbours first, missing ones as +0; then the blocks one after the other;
// at last +0, which turns -0 into 0. Sums per channel end a chain after every 8 blocks (reduce/sum_tree.hpp).
// Statistics of batch norms are sums of their own: nchw16n/batch_norm.hpp.

/// Vectors that hold the 16 samples of a feature.
inline constexpr int block_width = simd_width<float> < block_samples ? simd_width<float> : block_samples;
inline constexpr int block_vectors = block_samples / block_width;
/// The lanes of a block of which `samples` are there that are computed: those of whole vectors.
constexpr long block_lanes(long samples) {
  return block_vectors == 1 || samples > block_samples - block_width
             ? block_samples
             : (samples + block_width - 1) / block_width * block_width;
}

#if TENON_DEFINES || defined(TENON_EMBEDDED)
TENON_INLINE void pack_samples(const float* x, float* y, long n, long features, long begin, long end) {
  for (long b = begin; b < end; ++b) {
    const long first = b * block_samples, count = n - first < block_samples ? n - first : block_samples;
    copy_matrix(x + first * features, 1, features, y + first * features, block_samples, features, count, block_samples);
  }
}
TENON_INLINE void unpack_samples(const float* x, float* y, long n, long features, long begin, long end) {
  for (long b = begin; b < end; ++b) {
    const long first = b * block_samples, count = n - first < block_samples ? n - first : block_samples;
    copy_matrix(x + first * features, 1, block_samples, y + first * features, features, count, features, 0);
  }
}

/// Lanes from `count` on become +0; `first` is the sample of lane 0.
template <int Width>
[[gnu::always_inline]] inline Simd<float, Width> live_lanes(Simd<float, Width> x, long first, long count) {
  using V = Simd<float, Width>;
  float number[Width];
  for (int lane = 0; lane < Width; ++lane) number[lane] = float(lane);
  return choose_greater(V(float(count - first)), V::load(number), x, V(0.0f));
}

namespace detail {
// Adds neighbouring lanes of the Width / Step vectors that are left, until vector 0 holds in lane i the sum of what was
// vector i.
template <int Step, int Width>
[[gnu::always_inline]] inline void add_neighbours(Simd<float, Width>* rows) {
#pragma GCC unroll 16
  for (int i = 0; i < Width; i += 2 * Step) {
    tenon::detail::exchange<Step>(rows[i], rows[i + Step]);
    rows[i] = rows[i] + rows[i + Step];
  }
  if constexpr (2 * Step < Width) add_neighbours<2 * Step>(rows);
}
}  // namespace detail

/// Lane i of the result: the sum of the lanes of rows[i], a tree in which neighbours are added first.
template <int Width>
[[gnu::always_inline]] inline Simd<float, Width> sums_of_lanes(Simd<float, Width> (&rows)[Width]) {
  detail::add_neighbours<1>(rows);
  return rows[0];
}

/// sums[i] = the sum of the first `count` samples of vector i, for `vectors` vectors of 16 samples, rounded up to the
/// width of a register in both arrays.
[[gnu::noinline]] inline void add_samples(const float* lanes, long vectors, long count, float* sums) {
  using V = Simd<float, block_width>;
  for (long i = 0; i < vectors; i += block_width) {
    V part[block_vectors];
    for (int v = 0; v < block_vectors; ++v) {
      const int lane = v * block_width;
      V rows[block_width];
#pragma GCC unroll 16
      for (int r = 0; r < block_width; ++r) rows[r] = V::load(lanes + (i + r) * block_samples + lane);
      if (lane + block_width > count)
        for (int r = 0; r < block_width; ++r) rows[r] = live_lanes(rows[r], lane, count);
      part[v] = sums_of_lanes(rows);
    }
    for (int step = 1; step < block_vectors; step *= 2)
      for (int v = 0; v < block_vectors; v += 2 * step) part[v] = part[v] + part[v + step];
    part[0].store(sums + i);
  }
}
#endif  // TENON_DEFINES

}  // namespace tenon::kernel
TENON_EXACT_END
