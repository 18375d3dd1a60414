// Max pooling after a convolution: the maxima over windows of 2 x 2 of what fused steps make of its sums, while these
// are in the nearest cache.
#pragma once
#include <tenon/backend/cpu/nchw16n/layout.hpp>
#include <tenon/backend/cpu/pool/window.hpp>
#include <tenon/core/function_ref.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::kernel {

/// What neighbouring elements of a result are: pixels, channels of a pixel, or samples.
enum class PoolLanes : signed char { pixels, channels, samples };

/// A row of windows of 2 x 2 pixels of one channel, or of neighbouring channels in lanes; where pixels are neighbours,
/// several rows.
struct PooledSums {
  PoolLanes kind;
  const float* sums;    // the first pixel
  long row, pixel;      // from there to the pixel below, and to the next one
  long windows, lanes;  // lanes: of each pixel; 1 where pixels are neighbours
  // argmaxes: if they are kept, in the places of the maxima, the number of each one's pixel; -1 if it is 0 or less
  float *to, *argmaxes;
  long step;                     // from the maximum of a window to that of the next one
  long channel;                  // the first one
  long rows = 1, next_sums = 0;  // of windows; from the sums of a row to those of the next one, whose maxima follow
};
using PoolSums = FunctionRef<const PooledSums&>;

namespace detail {
inline constexpr int pool_sums_width = simd_width<float> < 8 ? simd_width<float> : 8;
using PoolVector = Simd<float, pool_sums_width>;

/// f(sum, in...) of some neighbours; operands whose Moves is true move with them.
template <bool... Moves, class F, class... T>
[[gnu::always_inline]] inline PoolVector finished_sums(F f, const float* sums, const T*... in) {
  float own[pool_sums_width];
  for (int l = 0; l < pool_sums_width; ++l) own[l] = f(sums[l], in[Moves ? l : 0]...);
  return PoolVector::load(own);
}

/// The maximum of four, as by max_pool2d: the first one begins, a later one takes over only if it is greater or NaN.
/// Its number goes to `argmax`, or -1 if it is 0 or less.
template <bool keeps>
[[gnu::always_inline]] inline PoolVector maximum_of(const PoolVector (&v)[4], PoolVector& argmax) {
  PoolVector best = v[0], number(0.0f);
#pragma GCC unroll 4
  for (int t = 1; t < 4; ++t) {
    const auto takes = takes_over(v[t], best);
    if constexpr (keeps) number = PoolVector(takes ? PoolVector(float(t)).lanes : number.lanes);
    best = PoolVector(takes ? v[t].lanes : best.lanes);
  }
  const PoolVector zero(0.0f), none(-1.0f);
  if constexpr (keeps) argmax = PoolVector(best.lanes <= zero.lanes ? none.lanes : number.lanes);
  return best;
}
/// The first `count` lanes, which are fewer than all.
[[gnu::always_inline]] inline void store_maxima(const PoolVector& v, float* to, long count) {
  float lane[pool_sums_width];
  v.store(lane);
  for (long i = 0; i < count; ++i) to[i] = lane[i];
}
}  // namespace detail

/// Maxima of windows whose pixels are neighbours.
template <bool keeps, class F, class... T>
[[gnu::noinline]] void pool_pixels(F f, const PooledSums& p, const T*... in) {
  constexpr int width = detail::pool_sums_width;
  const auto own = [&](const float* sums) __attribute__((always_inline)) {
    return detail::finished_sums<(sizeof(T) == 0)...>(f, sums, in...);
  };
  const long row = p.row, windows = p.windows;
  float *to = p.to, *argmaxes = p.argmaxes;
  const float* sums = p.sums;
  for (long left = p.rows; left > 0; --left) {
    for (long w = 0; w < windows; w += width) {
      if (w + width > windows && windows > width) w = windows - width;  // overlaps the ones before
      const float* const upper = sums + 2 * w;
      const auto u0 = own(upper), u1 = own(upper + width), l0 = own(upper + row), l1 = own(upper + row + width);
      detail::PoolVector argmax;
      const auto best = detail::maximum_of<keeps>(
          {every_second(u0, u1, 0), every_second(u0, u1, 1), every_second(l0, l1, 0), every_second(l0, l1, 1)}, argmax);
      if (w + width <= windows) {
        best.store(to + w);
        if constexpr (keeps) argmax.store(argmaxes + w);
      } else {
        detail::store_maxima(best, to + w, windows - w);
        if constexpr (keeps) detail::store_maxima(argmax, argmaxes + w, windows - w);
      }
    }
    sums += p.next_sums, to += windows;
    if constexpr (keeps) argmaxes += windows;
  }
}

/// Maxima of windows whose pixels are vectors: of samples, or of channels, with which operands move whose Moves is
/// true.
template <bool keeps, bool... Moves, class F, class... T>
[[gnu::noinline]] void pool_vectors(F f, const PooledSums& p, const T*... in) {
  constexpr int width = detail::pool_sums_width;
  const long row = p.row, pixel = p.pixel, lanes = p.lanes, step = p.step, end = p.windows * p.step;
  float *const to = p.to, *const argmaxes = p.argmaxes;
  const float* upper = p.sums;
  for (long at = 0; at < end; at += step, upper += 2 * pixel)
    for (long lane = 0; lane < lanes; lane += width) {
      const float* const lower = upper + row;
      const auto own = [&](const float* sums) __attribute__((always_inline)) {
        return detail::finished_sums<Moves...>(f, sums + lane, (in + (Moves ? lane : 0))...);
      };
      detail::PoolVector argmax;
      detail::maximum_of<keeps>({own(upper), own(upper + pixel), own(lower), own(lower + pixel)}, argmax)
          .store(to + at + lane);
      if constexpr (keeps) argmax.store(argmaxes + at + lane);
    }
}

/// No steps at all.
struct SameSum {
  float operator()(float sum) const { return sum; }
};
/// Steps, and the maxima of what they make: the same code for all shapes. Operands are numbers or have a value per
/// channel.
template <class Steps, bool keeps, bool... PerChannel>
struct PoolSteps {
  const float* operand[sizeof...(PerChannel) + 1];

  // The sums of row-major images end with + 0 here, those of blocks have had theirs.
  struct PlusZero {
    [[gnu::always_inline]] float operator()(float sum, auto... in) const { return Steps()(sum + 0.0f, in...); }
  };
  void operator()(const PooledSums& p) const { run(p, std::make_index_sequence<sizeof...(PerChannel)>()); }

 private:
  template <std::size_t... K>
  void run(const PooledSums& p, std::index_sequence<K...>) const {
    if (p.kind == PoolLanes::pixels) pool_pixels<keeps>(PlusZero(), p, (operand[K] + (PerChannel ? p.channel : 0))...);
    else if (p.kind == PoolLanes::channels)
      pool_vectors<keeps, PerChannel...>(PlusZero(), p, (operand[K] + (PerChannel ? p.channel : 0))...);
    else pool_vectors<keeps, (PerChannel && false)...>(Steps(), p, (operand[K] + (PerChannel ? p.channel : 0))...);
  }
};

}  // namespace tenon::kernel
TENON_EXACT_END
