// The gradient of max pooling: the largest element of each column that a row of windows covers, then the
// largest of neighbouring columns. For finite numbers that is the first maximum in row-major order, too.
#pragma once
#include <cstdint>
#include <limits>

#include <tenon/kernel/cpu/gemm/pack.hpp>
#include <tenon/kernel/cpu/pool/window.hpp>
#include <tenon/kernel/cpu/reduce/all_finite.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::kernel {
namespace detail {

/// A place in a window, r * w + k: of two equal elements that with the lower place wins.
template <class A>
using PoolPlace = std::conditional_t<sizeof(A) == 8, std::int64_t, std::int32_t>;

/// A band: element q of a row of windows is the window that begins q - pad_left columns from the left, also where none
/// does, so that vectors continue from row to row.
template <class A>
struct PlaceBand {
  static constexpr long cells = 16384 / long(sizeof(A));
  alignas(64) A best[cells];
  alignas(64) PoolPlace<A> place[cells];
};
constexpr long place_pitch(const Pool2dSizes& s) { return (s.ow - 1) * s.stride_w + s.kw; }
/// Rows of windows that a band holds; 0 if there are none.
template <class A>
constexpr long place_rows(const Pool2dSizes& s) {
  return s.kw > s.w ? 0 : (PlaceBand<A>::cells - s.kw - simd_width<A>) / place_pitch(s);
}

/// The largest element of each column of `rows` rows, and its place, which for row 0 is `first`.
template <int Width, class A, class T>
[[gnu::always_inline]] inline void column_maxima(const T* x, long w, long rows, long columns, long first, A* best,
                                                 PoolPlace<A>* place) {
  using V = Simd<A, Width>;
  using P = Simd<PoolPlace<A>, Width>;
  for (long c = 0;; c += Width) {
    if (c + Width > columns) c = columns - Width;  // overlaps the one before
    V most = load_lanes<Width, A>(x + c);
    const P next{PoolPlace<A>(w)};
    P own{PoolPlace<A>(first)}, at = own;
    for (long r = 1; r < rows; ++r) {
      const V before = most;
      most = max(load_lanes<Width, A>(x + r * w + c), most);
      own = own + next;
      // compared with itself: the chain of maxima need not wait for it
      at = P(most.lanes > before.lanes ? own.lanes : at.lanes);
    }
    most.store(best + c), at.store(place + c);
    if (c + Width >= columns) return;
  }
}
template <class A, class T>
[[gnu::noinline]] void column_maxima(const T* x, long w, long rows, long columns, long first, A* best,
                                     PoolPlace<A>* place) {
  constexpr int width = simd_width<A>;
  if (columns >= width) return column_maxima<width>(x, w, rows, columns, first, best, place);
  if constexpr (width > 8)
    if (columns >= 8) return column_maxima<8>(x, w, rows, columns, first, best, place);
  if constexpr (width > 4)
    if (columns >= 4) return column_maxima<4>(x, w, rows, columns, first, best, place);
  for (long c = 0; c < columns; ++c) {
    best[c] = static_cast<A>(x[c]), place[c] = PoolPlace<A>(first);
    for (long r = 1; r < rows; ++r)
      if (const A other = static_cast<A>(x[r * w + c]); other > best[c])
        best[c] = other, place[c] = PoolPlace<A>(first + r * w);
  }
}

/// place[q] = the place of the largest of the columns q .. q + kw - 1; of a single row no places are known before.
template <class A>
[[gnu::noinline]] void row_maxima(const A* best, PoolPlace<A>* place, int kw, long count, bool single) {
  using V = Simd<A>;
  using P = Simd<PoolPlace<A>, V::width>;
  const auto each = [&](auto known) __attribute__((always_inline)) {
    for (long q = 0; q < count; q += V::width) {
      V most = V::load(best + q);
      P at = known ? P::load(place + q) : P(0), column(0);
      for (int k = 1; k < kw; ++k) {
        const V other = V::load(best + q + k), before = most;
        most = max(other, most);
        column = column + P(1);
        P own = column, lower = at;
        if constexpr (known)
          own = own + P::load(place + q + k), lower = P(other.lanes == before.lanes ? min(own, at).lanes : at.lanes);
        at = P(most.lanes > before.lanes ? own.lanes : lower.lanes);
      }
      at.store(place + q);
    }
  };
  if (single) each(std::false_type());
  else each(std::true_type());
}

/// sums += dy at the first maxima of the windows' rows [i0, i0 + rows) of a plane.
template <class T, class A>
[[gnu::noinline]] void add_at_places(const Pool2dSizes& s, const PoolPlace<A>* place, const T* dy, A* sums, long i0,
                                     long rows) {
  const long pitch = place_pitch(s);
  for (long i = 0; i < rows; ++i, place += pitch, dy += s.ow) {
    const PoolPlace<A>* at = place;
    long corner = ((i0 + i) * s.stride_h - s.pad_top) * s.w - s.pad_left;
    for (long j = 0; j < s.ow; ++j, at += s.stride_w, corner += s.stride_w) sums[corner + *at] += static_cast<A>(dy[j]);
  }
}

/// max_pool2d_backward of the planes [begin, end), as many as a band holds or one.
template <class T, class A>
[[gnu::noinline]] void place_maxima(const Pool2dSizes& s, PlaceBand<A>& band, const T* x, const T* dy, T* dx,
                                    long begin, long end, void* workspace) {
  const long pitch = place_pitch(s), most = place_rows<A>(s), room = pitch - s.pad_left,
             columns = s.w < room ? s.w : room;
  for (long i0 = 0; i0 < s.oh; i0 += most) {
    const long rows = most < s.oh - i0 ? most : s.oh - i0;
    long to = s.pad_left;
    for (long p = begin; p < end; ++p)
      for (long i = i0; i < i0 + rows; ++i, to += pitch) {
        const PoolWindow at = window(s, i, 0);
        const T* const from = x + (p * s.h + at.top) * s.w;
        if (s.kh == 1) copy_row(from, band.best + to, columns);
        else
          column_maxima(from, s.w, at.bottom - at.top, columns, (at.top - i * s.stride_h + s.pad_top) * s.w,
                        band.best + to, band.place + to);
      }
    row_maxima(band.best, band.place, s.kw, (end - begin) * rows * pitch, s.kh == 1);
    for (long p = begin; p < end; ++p) {
      A* sums = static_cast<A*>(workspace);
      if constexpr (std::is_same_v<A, T>) sums = dx + p * s.h * s.w;
      if (i0 == 0) clear(sums, s.h * s.w);
      add_at_places(s, band.place + (p - begin) * rows * pitch, dy + (p * s.oh + i0) * s.ow, sums, i0, rows);
      if constexpr (!std::is_same_v<A, T>)
        if (i0 + rows == s.oh) copy_row(sums, dx + p * s.h * s.w, s.h * s.w);
    }
  }
}

/// max_pool2d_backward of the planes [begin, end); others(first, last) does it for those that are not finite and their
/// neighbours.
template <class T, class Others>
[[gnu::noinline]] void place_planes(const Pool2dSizes& s, const T* x, const T* dy, T* dx, long begin, long end,
                                    void* workspace, Others others) {
  using A = PoolValue<T>;
  PlaceBand<A> band;
  for (A& padding : band.best) padding = -std::numeric_limits<A>::infinity();
  for (PoolPlace<A>& none : band.place) none = 0;
  const long fitting = place_rows<A>(s) / s.oh, planes = fitting > 0 ? fitting : 1;
  for (long plane = begin, next; plane < end; plane = next) {
    next = plane + planes < end ? plane + planes : end;
    if (all_finite(x + plane * s.h * s.w, (next - plane) * s.h * s.w))
      place_maxima(s, band, x, dy, dx, plane, next, workspace);
    else others(plane, next);
  }
}

}  // namespace detail
}  // namespace tenon::kernel
TENON_EXACT_END
