// The gradient of max pooling where lanes are planes, as in NCHW16n; other planes are brought side by side, a band
// of rows at a time.
#pragma once
#include <cstdint>

#include <tenon/kernel/cpu/gemm/pack.hpp>
#include <tenon/kernel/cpu/pool/window.hpp>
#include <tenon/kernel/cpu/reduce/all_finite.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::kernel {
namespace detail {

/// Planes side by side.
inline constexpr int spread_lanes = 16;
inline constexpr int spread_width = simd_width<float> < spread_lanes ? simd_width<float> : spread_lanes;

/// sums += dy at the place of each window's first maximum, for the rows of windows [i0, i0 + rows), where no element is
/// NaN. x and sums begin with row `top` of the planes, dy with row i0.
[[gnu::noinline]] inline void spread_maxima(const Pool2dSizes& s, const float* x, const float* dy, float* sums,
                                            long top, long i0, long rows) {
  using V = Simd<float, spread_width>;
  using P = Simd<std::int32_t, spread_width>;
  const V zero(0.0f);
  const P one(1);
  for (long i = i0; i < i0 + rows; ++i)
    for (long j = 0; j < s.ow; ++j, dy += spread_lanes) {
      const PoolWindow at = window(s, i, j);
      const long first = ((at.top - top) * s.w + at.left) * spread_lanes, row = s.w * spread_lanes,
                 width = (at.right - at.left) * spread_lanes;
      for (int lane = 0; lane < spread_lanes; lane += spread_width) {
        V best = V::load(x + first + lane);
        P number(0), argmax(0);
        for (long r = 0; r < at.bottom - at.top; ++r)
          for (const float *from = x + first + lane + r * row, *end = from + width; from != end;
               from += spread_lanes, number = number + one) {
            const V before = best;
            best = max(V::load(from), best);
            // not value > before: the chain of maxima need not wait for it
            argmax = P(best.lanes > before.lanes ? number.lanes : argmax.lanes);
          }
        const V gradient = V::load(dy + lane);
        number = P(0);
        for (long r = 0; r < at.bottom - at.top; ++r)
          for (float *to = sums + first + lane + r * row, *end = to + width; to != end;
               to += spread_lanes, number = number + one)
            (V::load(to) + V(argmax.lanes == number.lanes ? gradient.lanes : zero.lanes)).store(to);
      }
    }
}

/// Some rows of planes side by side.
struct SpreadBand {
  static constexpr long pixels = 512;
  alignas(64) float x[pixels * spread_lanes], dy[pixels * spread_lanes], sums[pixels * spread_lanes];
};
/// Rows of windows in a band; 0 if not even one fits.
constexpr long spread_rows(const Pool2dSizes& s) {
  const long room = SpreadBand::pixels / s.w - s.kh, rows = room < 0 ? 0 : room / s.stride_h + 1,
             fitting = SpreadBand::pixels / s.ow;
  return rows < fitting ? rows : fitting;
}
/// max_pool2d_backward of up to spread_lanes planes.
template <class T>
[[gnu::noinline]] void spread_group(const Pool2dSizes& s, SpreadBand& band, const T* x, const T* dy, T* dx,
                                    long planes) {
  const long each = spread_rows(s), plane = s.h * s.w, row = s.w * spread_lanes;
  // of dx, rows before `top` are complete, those before `summed` begun
  for (long i0 = 0, top = 0, summed = 0; i0 < s.oh; i0 += each) {
    const long rows = each < s.oh - i0 ? each : s.oh - i0, end = window(s, i0 + rows - 1, 0).bottom;
    const long next = i0 + rows < s.oh ? window(s, i0 + rows, 0).top : s.h, complete = next < end ? next : end;
    copy_matrix(x + top * s.w, 1, plane, band.x, spread_lanes, (end - top) * s.w, planes, spread_lanes);
    copy_matrix(dy + i0 * s.ow, 1, s.oh * s.ow, band.dy, spread_lanes, rows * s.ow, planes, spread_lanes);
    clear(band.sums + (summed - top) * row, (end - summed) * row);
    spread_maxima(s, band.x, band.dy, band.sums, top, i0, rows);
    copy_matrix(band.sums, 1, spread_lanes, dx + top * s.w, plane, planes, (complete - top) * s.w, 0);
    for (long p = 0; p < planes && end < next; ++p)  // between windows
      for (long at = p * plane + end * s.w; at < p * plane + next * s.w; ++at) dx[at] = T(0);
    if (complete < end) copy_row(band.sums + (complete - top) * row, band.sums, (end - complete) * row);
    top = next, summed = end < next ? next : end;
  }
}

/// True if planes side by side are faster: small windows, and rows that fill vectors badly or that go to windows one by
/// one.
constexpr bool spreads(const Pool2dSizes& s) {
  return s.kh * s.kw <= 12 && (s.w <= spread_lanes || (s.kh == 1 && s.stride_w > 1)) && spread_rows(s) > 0;
}
/// max_pool2d_backward of the planes [begin, end) but for a few, from the returned one on; others(first, last) does it
/// for those that are not finite and their neighbours.
template <class T, class Others>
[[gnu::noinline]] long spread_planes(const Pool2dSizes& s, const T* x, const T* dy, T* dx, long begin, long end,
                                     Others others) {
  SpreadBand band;
  for (long planes; end - begin >= spread_lanes / 2; begin += planes) {
    planes = end - begin < spread_lanes ? end - begin : spread_lanes;
    if (all_finite(x + begin * s.h * s.w, planes * s.h * s.w))
      spread_group(s, band, x + begin * s.h * s.w, dy + begin * s.oh * s.ow, dx + begin * s.h * s.w, planes);
    else others(begin, begin + planes);
  }
  return begin;
}

}  // namespace detail
}  // namespace tenon::kernel
TENON_EXACT_END
