// Pooling of NCHW16n images (core/nchw16n.hpp) and its gradients: the same comparisons and sums as pool/pool2d.hpp.
#pragma once
#include <tenon/backend/cpu/pool/pool2d.hpp>
#if TENON_DEFINES
#include <tenon/backend/cpu/nchw16n/layout.hpp>
#endif

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::kernel {

/// As max_pool2d, all in NCHW16n; planes are those of all blocks.
template <class P>
void nchw16n_max_pool2d(const Pool2dSizes& s, const float* x, float* y, P* places, long begin, long end);
/// As max_pool2d_2x2.
template <class P>
void nchw16n_max_pool2d_2x2(const Pool2dSizes& s, const float* x, float* y, P* places, long begin, long end);
/// As max_pool2d_backward.
template <class P>
void nchw16n_max_pool2d_backward(const Pool2dSizes& s, const P* places, const float* dy, float* dx, long begin,
                                 long end);
/// As max_pool2d_backward_2x2.
template <class P>
void nchw16n_max_pool2d_backward_2x2(const Pool2dSizes& s, const P* places, const float* dy, float* dx, long begin,
                                     long end);
/// As avg_pool2d.
void nchw16n_avg_pool2d(const Pool2dSizes& s, const float* x, float* y, bool count_include_pad, long begin, long end);
/// As avg_pool2d_backward.
void nchw16n_avg_pool2d_backward(const Pool2dSizes& s, const float* dy, float* dx, bool count_include_pad, long begin,
                                 long end);

#if TENON_DEFINES
namespace detail {
using SampleVector = Simd<float, block_width>;
using SamplePlaces = Simd<std::int32_t, block_width>;

// Calls body(plane of x, plane of y, lane) for each plane and each vector of its samples.
template <class Body>
[[gnu::always_inline]] inline void each_nchw16n_plane(const Pool2dSizes& s, long begin, long end, Body body) {
  for (long plane = begin; plane < end; ++plane)
    for (int lane = 0; lane < block_samples; lane += block_width)
      body(plane * s.h * s.w * block_samples + lane, plane * s.oh * s.ow * block_samples + lane);
}

// The same for each window: body(window, its first pixel in x, its place in y). All vectors of a pixel go together, as
// chains that do not wait for each other.
template <class X, class Y, class Body>
[[gnu::always_inline]] inline void each_nchw16n_window(const Pool2dSizes& s, X* x, Y* y, long begin, long end,
                                                       Body body) {
  x += begin * s.h * s.w * block_samples, y += begin * s.oh * s.ow * block_samples;
  for (long plane = begin; plane < end; ++plane, x += s.h * s.w * block_samples)
    for (long i = 0; i < s.oh; ++i)
      for (long j = 0; j < s.ow; ++j, y += block_samples) {
        const PoolWindow at = window(s, i, j);
        body(at, x + (at.top * s.w + at.left) * block_samples, y);
      }
}
// body(vector, number of the vector) for the vectors of a window's pixels.
template <class X, class Body>
[[gnu::always_inline]] inline void each_sample_vector(const Pool2dSizes& s, const PoolWindow& at, X* x, Body body) {
  for (long r = at.top; r < at.bottom; ++r, x += s.w * block_samples)
    for (long k = 0; k < (at.right - at.left) * block_samples; k += block_samples)
#pragma GCC unroll 4
      for (int v = 0; v < block_vectors; ++v) body(x + k + v * block_width, v);
}

// The folds Maximum and Sum of vectors, from an element on, which add() then gets, too. The last NaN is kept apart from
// the greatest number: one operation less for which the next element waits.
struct SampleMaximum {
  SampleVector best, nan;
  [[gnu::always_inline]] void begin(SampleVector x) { best = nan = x; }
  [[gnu::always_inline]] void add(SampleVector x) {
    best = max(x, best);  // best where x is NaN
    nan = SampleVector(x.lanes != x.lanes ? x.lanes : nan.lanes);
  }
  [[gnu::always_inline]] SampleVector result() const {
    return SampleVector(nan.lanes != nan.lanes ? nan.lanes : best.lanes);
  }
};
struct SampleSum {
  SampleVector sum;
  [[gnu::always_inline]] void begin(SampleVector) { sum = SampleVector(0.0f); }
  [[gnu::always_inline]] void add(SampleVector x) { sum = sum + x; }
  [[gnu::always_inline]] SampleVector result() const { return sum; }
};

// The fold of each window; last(value, window) makes the result of it.
template <class Fold, class Last>
[[gnu::always_inline]] inline void nchw16n_pool(const Pool2dSizes& s, const float* x, float* y, long begin, long end,
                                                Last last) {
  each_nchw16n_window(s, x, y, begin, end, [&](const PoolWindow& at, const float* from, float* to) {
    Fold fold[block_vectors];
    for (int v = 0; v < block_vectors; ++v) fold[v].begin(SampleVector::load(from + v * block_width));
    each_sample_vector(s, at, from, [&](const float* own, int v) { fold[v].add(SampleVector::load(own)); });
    for (int v = 0; v < block_vectors; ++v) last(fold[v].result(), at).store(to + v * block_width);
  });
}

// The maximum of each row of a window comes first: of equal elements the first one stays, as in one chain. False if an
// element may be NaN (`probe` is as in maxima_2x2) and the maxima are not `exact`: then they hold for nothing.
template <bool exact, class P>
bool nchw16n_maxima_2x2(const Pool2dSizes& s, const float* x, float* y, P* places, long begin, long end) {
  using V = SampleVector;
  using I = SamplePlaces;
  const auto later = [](V value, V best) __attribute__((always_inline)) {
    if constexpr (exact) return takes_over(value, best);
    else return value.lanes > best.lanes;
  };
  const auto maximum = [&](V value, V best) __attribute__((always_inline)) {
    if constexpr (exact) return V(later(value, best) ? value.lanes : best.lanes);
    else return max(value, best);
  };
  const long row = s.w * block_samples, windows = s.ow * block_samples;
  V probe(0.0f);
  for (long plane = begin; plane < end; ++plane)
    for (long i = 0; i < s.oh; ++i) {
      const float* upper = x + (plane * s.h + 2 * i) * row;
      for (long to = (plane * s.oh + i) * windows, last = to + windows; to < last; upper += 2 * block_samples)
#pragma GCC unroll 4
        for (int v = 0; v < block_vectors; ++v, to += block_width) {
          const float *const left = upper + v * block_width, *const right = left + block_samples;
          const V a = V::load(left), b = V::load(right), c = V::load(left + row), d = V::load(right + row),
                  above = maximum(b, a), below = maximum(d, c);
          if constexpr (!exact) probe = probe + fmadd(c, d, a * b);
          maximum(below, above).store(y + to);
          if constexpr (keeps_places<P>) {
            const I first(later(b, a) ? I(1).lanes : I(0).lanes), second(later(d, c) ? I(3).lanes : I(2).lanes);
            store_places(I(later(below, above) ? second.lanes : first.lanes), places + to);
          }
        }
    }
  return !any_nan(probe);
}
}  // namespace detail

template <class P>
[[gnu::noinline]] void nchw16n_max_pool2d_2x2(const Pool2dSizes& s, const float* x, float* y, P* places, long begin,
                                              long end) {
  if (!detail::nchw16n_maxima_2x2<false>(s, x, y, places, begin, end))
    detail::nchw16n_maxima_2x2<true>(s, x, y, places, begin, end);
}

template <class P>
[[gnu::noinline]] void nchw16n_max_pool2d(const Pool2dSizes& s, const float* x, float* y, P* places, long begin,
                                          long end) {
  using V = detail::SampleVector;
  using I = detail::SamplePlaces;
  if (detail::are_2x2<float>(s)) return nchw16n_max_pool2d_2x2(s, x, y, places, begin, end);
  if constexpr (!detail::keeps_places<P>)
    return detail::nchw16n_pool<detail::SampleMaximum>(s, x, y, begin, end,
                                                       [](auto value, const detail::PoolWindow&) { return value; });
  else
    detail::each_nchw16n_plane(s, begin, end, [&](long from, long to) {
      for (long i = 0; i < s.oh; ++i)
        for (long j = 0; j < s.ow; ++j, to += block_samples) {
          const detail::PoolWindow at = detail::window(s, i, j);
          const float* row = x + from + (at.top * s.w + at.left) * block_samples;
          std::int32_t number =
              std::int32_t((at.top - i * s.stride_h + s.pad_top) * s.kw + at.left - j * s.stride_w + s.pad_left);
          const std::int32_t next_row = std::int32_t(s.kw - (at.right - at.left));
          V best = V::load(row);
          I place(number);
          for (long r = at.top; r < at.bottom; ++r, row += s.w * block_samples, number += next_row)
            for (long k = 0; k < at.right - at.left; ++k, ++number) {
              const V value = V::load(row + k * block_samples);
              const auto takes = detail::takes_over(value, best);
              place = I(takes ? I(number).lanes : place.lanes), best = V(takes ? value.lanes : best.lanes);
            }
          best.store(y + to);
          detail::store_places(place, places + to);
        }
    });
}

template <class P>
[[gnu::noinline]] void nchw16n_max_pool2d_backward_2x2(const Pool2dSizes& s, const P* places, const float* dy,
                                                       float* dx, long begin, long end) {
  using V = detail::SampleVector;
  const V zero(0.0f);
  detail::each_nchw16n_plane(s, begin, end, [&](long from, long to) {
    if (2 * s.oh < s.h || 2 * s.ow < s.w)  // pixels outside of every window
      for (long p = 0; p < s.h * s.w; ++p) zero.store(dx + from + p * block_samples);
    for (long i = 0; i < s.oh; ++i)
      for (long j = 0; j < s.ow; ++j) {
        const long at = from + (2 * i * s.w + 2 * j) * block_samples, own = to + (i * s.ow + j) * block_samples,
                   pixel[4]{at, at + block_samples, at + s.w * block_samples, at + (s.w + 1) * block_samples};
        const V gradient = V::load(dy + own);
        const auto place = detail::load_places<std::int32_t, block_width>(places + own);
#pragma GCC unroll 4
        for (int t = 0; t < 4; ++t) V(place.lanes == t ? gradient.lanes : zero.lanes).store(dx + pixel[t]);
      }
  });
}

template <class P>
[[gnu::noinline]] void nchw16n_max_pool2d_backward(const Pool2dSizes& s, const P* places, const float* dy, float* dx,
                                                   long begin, long end) {
  using V = detail::SampleVector;
  if (detail::are_2x2<float>(s)) return nchw16n_max_pool2d_backward_2x2(s, places, dy, dx, begin, end);
  const V zero(0.0f);
  detail::each_nchw16n_plane(s, begin, end, [&](long from, long to) {
    for (long p = 0; p < s.h * s.w; ++p) zero.store(dx + from + p * block_samples);
    for (long i = 0; i < s.oh; ++i)
      for (long j = 0; j < s.ow; ++j, to += block_samples) {
        const detail::PoolWindow at = detail::window(s, i, j);
        const V gradient = V::load(dy + to);
        const auto place = detail::load_places<std::int32_t, block_width>(places + to);
        for (long r = at.top; r < at.bottom; ++r) {
          float* sum = dx + from + (r * s.w + at.left) * block_samples;
          std::int32_t number =
              std::int32_t((r - i * s.stride_h + s.pad_top) * s.kw + at.left - j * s.stride_w + s.pad_left);
          for (long k = at.left; k < at.right; ++k, ++number, sum += block_samples)
            (V::load(sum) + V(place.lanes == number ? gradient.lanes : zero.lanes)).store(sum);
        }
      }
  });
}

[[gnu::noinline]] TENON_INLINE void nchw16n_avg_pool2d(const Pool2dSizes& s, const float* x, float* y,
                                                       bool count_include_pad, long begin, long end) {
  if (detail::is_large(s))
    return detail::each_nchw16n_window(s, x, y, begin, end,
                                       [&](const detail::PoolWindow& at, const float* from, float* to) {
                                         const float count = float(detail::divisor(s, at, count_include_pad));
                                         detail::add_window(from, detail::runs_of(s, at), s.w * block_samples, to);
                                         for (int k = 0; k < block_samples; ++k) to[k] = to[k] / count;
                                       });
  detail::nchw16n_pool<detail::SampleSum>(
      s, x, y, begin, end, [&s, count_include_pad](auto value, const detail::PoolWindow& at) {
        return value / detail::SampleVector(float(detail::divisor(s, at, count_include_pad)));
      });
}

[[gnu::noinline]] TENON_INLINE void nchw16n_avg_pool2d_backward(const Pool2dSizes& s, const float* dy, float* dx,
                                                                bool count_include_pad, long begin, long end) {
  using V = detail::SampleVector;
  const long pixels = s.h * s.w * block_samples;
  clear(dx + begin * pixels, (end - begin) * pixels);
  detail::each_nchw16n_window(s, dx, dy, begin, end, [&](const detail::PoolWindow& at, float* to, const float* from) {
    const V divisor(float(detail::divisor(s, at, count_include_pad)));
    V share[block_vectors];
    for (int v = 0; v < block_vectors; ++v) share[v] = V::load(from + v * block_width) / divisor;
    detail::each_sample_vector(s, at, to, [&](float* sum, int v) { (V::load(sum) + share[v]).store(sum); });
  });
}
#endif  // TENON_DEFINES

}  // namespace tenon::kernel
TENON_EXACT_END
