// Max and average pooling over windows of a plane, and their gradients.
#pragma once
#include <cstddef>

#include <tenon/backend/cpu/pool/window.hpp>
#if TENON_DEFINES
#include <tenon/backend/cpu/pool/grid.hpp>
#include <tenon/backend/cpu/pool/large_window.hpp>
#include <tenon/backend/cpu/pool/max_gradient.hpp>
#include <tenon/backend/cpu/pool/one_by_one.hpp>
#include <tenon/backend/cpu/reduce/all_finite.hpp>
#endif

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::kernel {

namespace detail {
template <class T>
inline constexpr int pool_lanes = simd_width<T> < 8 ? simd_width<T> : 8;
template <class T>
inline constexpr int half_lanes = pool_lanes<T> == 8 ? 4 : pool_lanes<T>;

// True if all windows are of 2 x 2, side by side, and none is cut: then a gradient of -0 stays what it is.
template <class T>
constexpr bool are_2x2(const Pool2dSizes& s) {
  return s.kh == 2 && s.kw == 2 && s.stride_h == 2 && s.stride_w == 2 && s.pad_top == 0 && s.pad_left == 0 &&
         2 * s.oh <= s.h && 2 * s.ow <= s.w && s.ow >= half_lanes<T>;
}
}  // namespace detail

/// Bytes of scratch that the two gradients need per thread: sums of 16-bit floats are carried in float, others in dx
/// itself.
template <class T>
constexpr std::size_t pool2d_backward_workspace(const Pool2dSizes& s) {
  return std::is_same_v<T, detail::PoolValue<T>> ? 0 : std::size_t(s.h * s.w) * sizeof(detail::PoolValue<T>);
}

/// y = the maximum of each window, for the planes [begin, end). The first element of a window (row by row, without
/// padding) begins, and a later one takes over only if it is greater or NaN: a NaN is the maximum. T: any element type.
/// places = which element of its window each maximum is: r * kw + k for row r and column k, of a window at the border
/// as if it were whole. P: an integer type that has kh * kw - 1, for floating-point T; with no_places any T.
template <class T, class P>
void max_pool2d(const Pool2dSizes& s, const T* x, T* y, P* places, long begin, long end);

/// max_pool2d where detail::are_2x2; a program that calls it has no code for other windows.
template <class T, class P>
void max_pool2d_2x2(const Pool2dSizes& s, const T* x, T* y, P* places, long begin, long end);

/// max_pool2d_backward where detail::are_2x2.
template <class T, class P>
void max_pool2d_backward_2x2(const Pool2dSizes& s, const P* places, const T* dy, T* dx, long begin, long end);

/// dx = dy at these places, added up in row-major order of the windows; else 0.
template <class T, class P>
[[gnu::noinline]] void max_pool2d_backward(const Pool2dSizes& s, const P* places, const T* dy, T* dx, long begin,
                                           long end, void* workspace);

/// y = (((0 + x0) + x1) + ...) / count over the elements of x in each window, of large ones in the order of the sums of
/// rows (backend/order.hpp); count is kh * kw, or without
/// count_include_pad (the rule of pad mode "same") the number of these elements. Floating point only; 16-bit floats add
/// up and divide in float.
template <class T>
void avg_pool2d(const Pool2dSizes& s, const T* x, T* y, bool count_include_pad, long begin, long end);

/// dx = for each element the sum, in row-major order of the windows that hold it, of dy / count.
template <class T>
[[gnu::noinline]] void avg_pool2d_backward(const Pool2dSizes& s, const T* dy, T* dx, bool count_include_pad, long begin,
                                           long end, void* workspace);

#if TENON_DEFINES
namespace detail {
// What a row of windows of 2 x 2 side by side sends back, where only the rows First .. First + Rows - 1 of them are
// there. dx: their first pixel; w: from row to row; `plus`: added to the gradient.
template <int Lanes, int First, int Rows, class T, class P>
[[gnu::always_inline]] inline void spread_row_2x2(const P* places, const T* dy, T* dx, long w, long windows, T plus) {
  using V = Simd<T, Lanes>;
  using I = std::conditional_t<sizeof(T) == 8, std::int64_t, std::int32_t>;
  const V zero(T(0));
  for (long j = 0; j < windows; j += Lanes) {
    const long start = j + Lanes <= windows ? j : windows - Lanes;
    const V gradient = V::load(dy + start) + V(plus);
    const auto place = load_places<I, Lanes>(places + start);
#pragma GCC unroll 2
    for (int r = 0; r < Rows; ++r) {
      const I left = 2 * (First + r), right = left + 1;
      const V a(place.lanes == left ? gradient.lanes : zero.lanes),
          b(place.lanes == right ? gradient.lanes : zero.lanes);
      T* const to = dx + r * w + 2 * start;
      interleaved(a, b, 0).store(to), interleaved(a, b, 1).store(to + Lanes);
    }
  }
}

// True if spread_2x2 applies: some may be cut.
template <class T>
constexpr bool some_2x2(const Pool2dSizes& s) {
  const bool alike = s.kh == 2 && s.kw == 2 && s.stride_h == 2 && s.stride_w == 2 && s.pad_top <= 1 && s.pad_left <= 1;
  return are_2x2<T>(s) || (alike && whole_end(s) - whole_begin(s) >= pool_lanes<T>);
}
// Every second element of a and b, as every_second. With AVX2 a shuffle takes them from either half of a register, and
// leaves the quarters in the middle exchanged, until in_order().
template <class V>
inline constexpr bool halves_apart = simd_bytes == 32 && V::width == 8;
template <int odd, class V>
[[gnu::always_inline]] inline V taken_apart(V a, V b) {
  constexpr auto lanes = [](int lane) { return (lane & 4) + 2 * (lane & 1) + (lane & 2 ? V::width : 0) + odd; };
  if constexpr (halves_apart<V>) return tenon::detail::shuffled<V>(a, b, tenon::detail::Order<V::width, lanes>());
  else return every_second(a, b, odd);
}
template <class V>
[[gnu::always_inline]] inline V in_order(V x) {
  if constexpr (halves_apart<V>)
    return tenon::detail::shuffled<V>(x, x, std::integer_sequence<int, 0, 1, 4, 5, 2, 3, 6, 7>());
  else return x;
}

// max_pool2d for planes of such windows that none is cut of. `probe` is a sum of products of neighbours: NaN if an
// element is, and for some infinite or huge ones as well.
template <int Lanes, class T, class P>
[[gnu::noinline]] void maxima_2x2(const Pool2dSizes& s, const T* x, T* y, P* places, long begin, long end) {
  using V = Simd<T, Lanes>;
  using I = Simd<std::conditional_t<sizeof(T) == 8, std::int64_t, std::int32_t>, Lanes>;
  const long w = s.w, oh = s.oh, ow = s.ow, rest = (s.h - 2 * oh) * w;
  const T* upper = x + begin * s.h * w;
  long to = begin * oh * ow;
  V probe(T(0));
  for (long plane = begin; plane < end; ++plane, upper += rest)
    for (long i = 0; i < oh; ++i, upper += 2 * w, to += ow)
      for (long j = 0; j < ow; j += Lanes) {
        const long start = j + Lanes <= ow ? j : ow - Lanes;
        const T *const left = upper + 2 * start, *const lower = left + w;
        const V a = V::load(left), b = V::load(left + Lanes), c = V::load(lower), d = V::load(lower + Lanes);
        probe = probe + fmadd(c, d, a * b);
        V best = taken_apart<0>(a, b);
        I place(0);
        const auto meet = [&](V other, int number) __attribute__((always_inline)) {
          if constexpr (keeps_places<P>) place = I(other.lanes > best.lanes ? I(number).lanes : place.lanes);
          best = max(other, best);
        };
        meet(taken_apart<1>(a, b), 1), meet(taken_apart<0>(c, d), 2), meet(taken_apart<1>(c, d), 3);
        in_order(best).store(y + to + start);
        if constexpr (keeps_places<P>) store_places(in_order(place), places + to + start);
      }
  if (any_nan(probe)) pool_maxima(s, x, y, places, begin, end, 0, s.oh);
}

// max_pool2d_backward for such windows; `whole`: none is cut.
template <int Lanes, bool whole, class T, class P>
[[gnu::noinline]] void spread_2x2(const Pool2dSizes& s, const P* places, const T* dy, T* dx, long planes) {
  const T plus = whole ? T(-0.0) : T(0);
  const long left = whole ? 0 : whole_begin(s), right = whole ? s.ow : whole_end(s);
  const bool covers = right - left == s.ow && 2 * s.ow == s.w && 2 * s.oh - s.pad_top >= s.h;  // all pixels are written
  for (long plane = 0; plane < planes; ++plane, dx += s.h * s.w) {
    for (long p = 0; p < s.h * s.w && !covers; ++p) dx[p] = T(0);
    for (long i = 0; i < s.oh; ++i, dy += s.ow, places += s.ow) {
      const PoolWindow at = window(s, i, 0);
      const long windows = right - left;
      T* const first = dx + at.top * s.w + 2 * left - s.pad_left;
      if (whole || at.bottom - at.top == 2)
        spread_row_2x2<Lanes, 0, 2>(places + left, dy + left, first, s.w, windows, plus);
      else if (at.top > 2 * i - s.pad_top)
        spread_row_2x2<Lanes, 1, 1>(places + left, dy + left, first, s.w, windows, plus);
      else spread_row_2x2<Lanes, 0, 1>(places + left, dy + left, first, s.w, windows, plus);
      const long corner = (2 * i - s.pad_top) * s.w - s.pad_left;
      if (!whole && right - left < s.ow)
        for (long j = left > 0 ? 0 : right; j < s.ow; j = j + 1 == left ? right : j + 1)
          dx[corner + 2 * j + places[j] / 2 * s.w + places[j] % 2] = dy[j] + plus;
    }
  }
}
// For the planes [begin, end).
template <bool whole, class T, class P>
void spread_planes_2x2(const Pool2dSizes& s, const P* places, const T* dy, T* dx, long begin, long end) {
  const auto spread =
      s.ow >= pool_lanes<T> ? &spread_2x2<pool_lanes<T>, whole, T, P> : &spread_2x2<half_lanes<T>, whole, T, P>;
  spread(s, places + begin * s.oh * s.ow, dy + begin * s.oh * s.ow, dx + begin * s.h * s.w, end - begin);
}

// Adds up what the windows send back to a plane: spread(sums, i, j, window) for all windows in row-major order.
template <class T, class Spread>
[[gnu::always_inline]] inline void pool_backward(const Pool2dSizes& s, T* dx, long begin, long end, void* workspace,
                                                 Spread spread) {
  using A = PoolValue<T>;
  for (long plane = begin; plane < end; ++plane) {
    T* const to = dx + plane * s.h * s.w;
    A* sums = static_cast<A*>(workspace);
    if constexpr (std::is_same_v<A, T>) sums = to;
    for (long p = 0; p < s.h * s.w; ++p) sums[p] = A(0);
    for (long i = 0; i < s.oh; ++i)
      for (long j = 0; j < s.ow; ++j) spread(sums, plane, i, j, window(s, i, j));
    if constexpr (!std::is_same_v<A, T>)
      for (long p = 0; p < s.h * s.w; ++p) to[p] = static_cast<T>(sums[p]);
  }
}

}  // namespace detail

template <class T, class P>
void max_pool2d_2x2(const Pool2dSizes& s, const T* x, T* y, P* places, long begin, long end) {
  constexpr int lanes = detail::pool_lanes<T>, half = detail::half_lanes<T>;
  s.ow >= lanes ? detail::maxima_2x2<lanes>(s, x, y, places, begin, end)
                : detail::maxima_2x2<half>(s, x, y, places, begin, end);
}

template <class T, class P>
void max_pool2d(const Pool2dSizes& s, const T* x, T* y, P* places, long begin, long end) {
  using A = detail::PoolValue<T>;
  if constexpr (std::is_floating_point_v<T>)
    if (detail::are_2x2<T>(s)) return max_pool2d_2x2(s, x, y, places, begin, end);
  if constexpr (!std::is_integral_v<T>)
    if (const detail::PoolGrid<A> grid(s); grid.rows > 0) {
      constexpr bool keeps = detail::keeps_places<P>;
      detail::GridCells<A> best, of_rows;
      detail::GridCells<detail::PoolPlace<A>> place;
      // First the maxima of windows' rows, then of these the maxima, so that the first of equal zeros wins.
      const bool by_rows = !keeps && detail::folds_by_rows(s, grid);
      const long plane_cells = grid.image.plane(), pitch = grid.image.pitch;
      long row[detail::grid_taps];
      for (long r = 0; r < s.kh && by_rows; ++r) row[r] = grid.tap[r * s.kw];
      const auto fold = &detail::fold_grid<detail::NumbersMaximum, A>;
      const auto take = [&](long plane, long planes, long i0, long rows, const A* cells) {
        if (may_hold_nan(cells, grid.parts * grid.half))
          return detail::pool_maxima(s, x, y, places, plane, plane + planes, i0, i0 + rows);
        if (by_rows) fold(grid.tap, s.kw, cells, of_rows.cell, planes * plane_cells), cells = of_rows.cell;
        for (long p = plane; p < plane + planes; ++p, cells += plane_cells) {
          const long to = (p * s.oh + i0) * s.ow;
          if constexpr (keeps) {
            detail::fold_places(grid.tap, grid.taps, cells, best.cell, place.cell, rows * pitch);
            detail::pick_windows(place.cell, rows * pitch / grid.step, grid.step);
            for (long i = 0; i < rows; ++i)
              detail::narrow_places(place.cell + i * (pitch / grid.step), places + to + i * s.ow, s.ow);
          } else {
            fold(by_rows ? row : grid.tap, by_rows ? s.kh : grid.taps, cells, best.cell, rows * pitch);
          }
          detail::pick_windows(best.cell, rows * pitch / grid.step, grid.step);
          copy_matrix(best.cell, pitch / grid.step, 1, y + to, s.ow, rows, s.ow, 0);
        }
      };
      return detail::each_band(s, grid, x, -std::numeric_limits<A>::infinity(), begin, end, take);
    }
  detail::pool_maxima(s, x, y, places, begin, end, 0, s.oh);
}

template <class T, class P>
void max_pool2d_backward_2x2(const Pool2dSizes& s, const P* places, const T* dy, T* dx, long begin, long end) {
  detail::spread_planes_2x2<true>(s, places, dy, dx, begin, end);
}

template <class T, class P>
void max_pool2d_backward(const Pool2dSizes& s, const P* places, const T* dy, T* dx, long begin, long end,
                         void* workspace) {
  using A = detail::PoolValue<T>;
  if constexpr (std::is_same_v<A, T>) {
    if (detail::are_2x2<T>(s)) return max_pool2d_backward_2x2(s, places, dy, dx, begin, end);
    if (detail::some_2x2<T>(s)) return detail::spread_planes_2x2<false>(s, places, dy, dx, begin, end);
  }
  if (const long around = detail::surrounding<A>(s))
    return detail::gather_planes(s, around, places, dy, dx, begin, end);
  const detail::PlaceOffsets offset(s);
  const long windows = s.oh * s.ow, pixels = s.h * s.w;
  long plane = begin;
  if constexpr (std::is_same_v<A, T>)
    for (constexpr int together = 2; plane + together <= end; plane += together) {
      clear(dx + plane * pixels, together * pixels);
      detail::scatter_planes<together>(s, offset, places + plane * windows, dy + plane * windows, dx + plane * pixels);
    }
  for (; plane < end; ++plane) {
    A* sums = static_cast<A*>(workspace);
    if constexpr (std::is_same_v<A, T>) sums = dx + plane * pixels;
    clear(sums, pixels);
    detail::scatter_planes<1>(s, offset, places + plane * windows, dy + plane * windows, sums);
    if constexpr (!std::is_same_v<A, T>) copy_row(sums, dx + plane * pixels, pixels);
  }
}

template <class T>
void avg_pool2d(const Pool2dSizes& s, const T* x, T* y, bool count_include_pad, long begin, long end) {
  static_assert(!std::is_integral_v<T>);
  using A = detail::PoolValue<T>;
  if (detail::is_large(s)) return detail::average_large_windows(s, x, y, count_include_pad, begin, end);
  if (const detail::PoolGrid<A> grid(s, !detail::lie_open<A>(s)); grid.rows > 0) {
    detail::GridCells<A> sums;
    const long pitch = grid.image.pitch / grid.step;
    const auto divide = [&](long plane, long planes, long i0, long rows) {
      detail::pick_windows(sums.cell, planes * rows * pitch, grid.step);
      if (detail::one_divisor(s, count_include_pad)) {
        detail::divide_cells(sums.cell, planes * rows * pitch, static_cast<A>(long(s.kh) * s.kw));
        for (long p = 0; p < planes; ++p)
          copy_matrix(sums.cell + p * rows * pitch, pitch, 1, y + ((plane + p) * s.oh + i0) * s.ow, s.ow, rows, s.ow,
                      0);
        return;
      }
      for (long p = 0; p < planes; ++p)
        for (long i = 0; i < rows; ++i)
          detail::divide_row(s, i0 + i, sums.cell + (p * rows + i) * pitch, y + ((plane + p) * s.oh + i0 + i) * s.ow, 1,
                             count_include_pad);
    };
    if constexpr (std::is_same_v<A, T>)
      if (detail::lie_open<A>(s)) {
        for (long plane = begin; plane < end; ++plane)
          for (long i = 0, rows; i < s.oh; i += rows) {
            rows = grid.rows < s.oh - i ? grid.rows : s.oh - i;
            detail::fold_rows<detail::Sum>(s, x + (plane * s.h + i * s.stride_h) * s.w, s.stride_h * s.w, sums.cell,
                                           grid.image.pitch, rows);
            divide(plane, 1, i, rows);
          }
        return;
      }
    const auto fold = [&](long plane, long planes, long i0, long rows, const A* cells) {
      for (long p = 0; p < planes; ++p, cells += grid.image.plane())
        detail::fold_grid<detail::Sum>(grid.tap, grid.taps, cells, sums.cell + p * rows * grid.image.pitch,
                                       rows * grid.image.pitch);
      divide(plane, planes, i0, rows);
    };
    detail::each_band(s, grid, x, A(0), begin, end, fold);
    return;
  }
  detail::pool_averages(s, x, y, count_include_pad, begin, end);
}

template <class T>
void avg_pool2d_backward(const Pool2dSizes& s, const T* dy, T* dx, bool count_include_pad, long begin, long end,
                         void* workspace) {
  static_assert(!std::is_integral_v<T>);
  using A = detail::PoolValue<T>;
  if (detail::gather_averages(s, dy, dx, count_include_pad, begin, end)) return;
  detail::pool_backward(s, dx, begin, end, workspace,
                        [&](A* sums, long plane, long i, long j, const detail::PoolWindow& at) {
                          const A share = static_cast<A>(dy[(plane * s.oh + i) * s.ow + j]) /
                                          static_cast<A>(detail::divisor(s, at, count_include_pad));
                          for (long y = at.top; y < at.bottom; ++y)
                            for (long k = at.left; k < at.right; ++k) sums[y * s.w + k] += share;
                        });
}
#endif  // TENON_DEFINES

}  // namespace tenon::kernel
TENON_EXACT_END
