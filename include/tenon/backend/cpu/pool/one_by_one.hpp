// Pooling window by window: of any size and dtype, and where numbers are not finite.
#pragma once
#include <tenon/backend/cpu/pool/window.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::kernel {
namespace detail {

template <class Fold, class T>
[[gnu::always_inline]] inline PoolValue<T> fold_window(const Pool2dSizes& s, const T* x, const PoolWindow& at) {
  using A = PoolValue<T>;
  A sum{};
  for (long y = at.top; y < at.bottom; ++y)
    for (long k = at.left; k < at.right; ++k) {
      const A value = static_cast<A>(x[y * s.w + k]);
      sum = y == at.top && k == at.left ? Fold::first(value) : Fold::next(sum, value);
    }
  return sum;
}

// Window by window, of the planes [begin, end) the rows [first_row, last_row); last(value, window) turns the fold into
// the result.
template <class Fold, class T, class Last>
[[gnu::noinline]] void pool(const Pool2dSizes& s, const T* x, T* y, long begin, long end, long first_row, long last_row,
                            Last last) {
  for (long plane = begin; plane < end; ++plane)
    for (long i = first_row; i < last_row; ++i)
      for (long j = 0; j < s.ow; ++j) {
        const PoolWindow at = window(s, i, j);
        y[(plane * s.oh + i) * s.ow + j] = static_cast<T>(last(fold_window<Fold>(s, x + plane * s.h * s.w, at), at));
      }
}

template <class T>
void pool_maxima(const Pool2dSizes& s, const T* x, T* y, long begin, long end, long first_row, long last_row) {
  pool<Maximum>(s, x, y, begin, end, first_row, last_row, [](auto value, const PoolWindow&) { return value; });
}

// The same with the place of each: the first element begins, a later one takes over only if it is greater or NaN.
template <class T, class P>
[[gnu::noinline]] void pool_places(const Pool2dSizes& s, const T* x, T* y, P* places, long begin, long end,
                                   long first_row, long last_row) {
  using A = PoolValue<T>;
  for (long plane = begin; plane < end; ++plane)
    for (long i = first_row; i < last_row; ++i)
      for (long j = 0; j < s.ow; ++j) {
        const PoolWindow at = window(s, i, j);
        const T* const own = x + plane * s.h * s.w;
        const long top = i * s.stride_h - s.pad_top, left = j * s.stride_w - s.pad_left;
        A best = static_cast<A>(own[at.top * s.w + at.left]);
        long place = (at.top - top) * s.kw + at.left - left;
        for (long r = at.top; r < at.bottom; ++r)
          for (long k = at.left; k < at.right; ++k) {
            const A other = static_cast<A>(own[r * s.w + k]);
            place = takes_over(other, best) ? (r - top) * s.kw + k - left : place;
            best = takes_over(other, best) ? other : best;
          }
        y[(plane * s.oh + i) * s.ow + j] = static_cast<T>(best);
        places[(plane * s.oh + i) * s.ow + j] = static_cast<P>(place);
      }
}

}  // namespace detail
}  // namespace tenon::kernel
TENON_EXACT_END
