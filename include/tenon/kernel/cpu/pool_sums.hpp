// The maxima over windows of 2 x 2 of what fused steps make of a convolution's sums, while these are in the nearest cache.
#pragma once
#include <tenon/core/function_ref.hpp>
#include <tenon/kernel/cpu/sample_blocks.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::kernel {

/// A row of windows of 2 x 2 pixels of one channel, or of neighbouring channels in lanes.
struct PooledSums {
  const float* sums;    // the first pixel
  long row, pixel;      // from there to the pixel below, and to the next one
  long windows, lanes;  // lanes: of each pixel; 1 where pixels are neighbours
  float* to;
  long step;            // from the maximum of a window to that of the next one
  long channel;         // the first one
};
using PoolSums = FunctionRef<const PooledSums&>;

namespace detail {
inline constexpr int pool_sums_width = simd_width<float> < 8 ? simd_width<float> : 8;

/// f(sum, in...) of some neighbours; operands whose Moves is true move with them.
template <bool... Moves, class F, class... T>
[[gnu::always_inline]] inline auto finished_sums(F f, const float* sums, const T*... in) {
  float own[pool_sums_width];
  for (int l = 0; l < pool_sums_width; ++l) own[l] = f(sums[l], in[Moves ? l : 0]...);
  return Simd<float, pool_sums_width>::load(own);
}
}  // namespace detail

/// Maxima of windows whose pixels are neighbours, as by max_pool2d: the first element begins, a later one takes over only if it is greater.
template <class F, class... T>
[[gnu::noinline]] void pool_pixels(F f, const PooledSums& p, const T*... in) {
  constexpr int width = detail::pool_sums_width;
  const auto own = [&](const float* sums) __attribute__((always_inline)) { return detail::finished_sums<(sizeof(T) == 0)...>(f, sums, in...); };
  const long row = p.row, windows = p.windows;
  float* const to = p.to;
  const float* upper = p.sums;
  for (long w = 0; w < windows; w += width, upper += 2 * width) {
    const auto u0 = own(upper), u1 = own(upper + width), l0 = own(upper + row), l1 = own(upper + row + width);
    const auto best = max(every_second(l0, l1, 1), max(every_second(l0, l1, 0), max(every_second(u0, u1, 1), every_second(u0, u1, 0))));
    if (w + width <= windows) {
      best.store(to + w);
    } else {
      float last[width];
      best.store(last);
      for (long i = 0; w + i < windows; ++i) to[w + i] = last[i];
    }
  }
}

/// Maxima of windows whose pixels are vectors: of samples, or of channels, with which operands move whose Moves is true.
template <bool... Moves, class F, class... T>
[[gnu::noinline]] void pool_vectors(F f, const PooledSums& p, const T*... in) {
  constexpr int width = detail::pool_sums_width;
  const long row = p.row, pixel = p.pixel, windows = p.windows, lanes = p.lanes, step = p.step;
  float* to = p.to;
  const float* upper = p.sums;
  for (long w = 0; w < windows; ++w, upper += 2 * pixel, to += step)
    for (long lane = 0; lane < lanes; lane += width) {
      const float* const lower = upper + row;
      const auto own = [&](const float* sums) __attribute__((always_inline)) { return detail::finished_sums<Moves...>(f, sums + lane, (in + (Moves ? lane : 0))...); };
      const auto first = max(own(upper + pixel), own(upper));
      max(own(lower + pixel), max(own(lower), first)).store(to + lane);
    }
}

}  // namespace tenon::kernel
TENON_EXACT_END
