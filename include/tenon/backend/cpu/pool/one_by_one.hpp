// Pooling window by window: of any size and dtype, and where numbers are not finite.
#pragma once
#include <tenon/backend/cpu/pool/window.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::kernel {
namespace detail {

// Of the planes [begin, end) the rows [first_row, last_row): the first element of a window begins, a later one takes
// over only if it is greater or NaN.
template <class T, class P>
[[gnu::noinline]] void pool_maxima(const Pool2dSizes& s, const T* x, T* y, P* places, long begin, long end,
                                   long first_row, long last_row) {
  using A = PoolValue<T>;
  for (long plane = begin; plane < end; ++plane)
    for (long i = first_row; i < last_row; ++i)
      for (long j = 0; j < s.ow; ++j) {
        const PoolWindow at = window(s, i, j);
        const T* const own = x + plane * s.h * s.w;
        const long top = i * s.stride_h - s.pad_top, left = j * s.stride_w - s.pad_left,
                   to = (plane * s.oh + i) * s.ow + j;
        A best = static_cast<A>(own[at.top * s.w + at.left]);
        long place = (at.top - top) * s.kw + at.left - left;
        for (long r = at.top; r < at.bottom; ++r)
          for (long k = at.left; k < at.right; ++k) {
            const A other = static_cast<A>(own[r * s.w + k]);
            place = takes_over(other, best) ? (r - top) * s.kw + k - left : place;
            best = takes_over(other, best) ? other : best;
          }
        y[to] = static_cast<T>(best);
        if constexpr (keeps_places<P>) places[to] = static_cast<P>(place);
      }
}

template <class T>
[[gnu::noinline]] void pool_averages(const Pool2dSizes& s, const T* x, T* y, bool count_include_pad, long begin,
                                     long end) {
  using A = PoolValue<T>;
  for (long plane = begin; plane < end; ++plane)
    for (long i = 0; i < s.oh; ++i)
      for (long j = 0; j < s.ow; ++j) {
        const PoolWindow at = window(s, i, j);
        const T* const own = x + plane * s.h * s.w;
        A sum(0);
        for (long r = at.top; r < at.bottom; ++r)
          for (long k = at.left; k < at.right; ++k) sum = A(sum + static_cast<A>(own[r * s.w + k]));
        y[(plane * s.oh + i) * s.ow + j] = static_cast<T>(sum / static_cast<A>(divisor(s, at, count_include_pad)));
      }
}

}  // namespace detail
}  // namespace tenon::kernel
TENON_EXACT_END
