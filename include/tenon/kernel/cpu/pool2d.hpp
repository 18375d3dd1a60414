// Maximum and average over windows of a plane, and their gradients.
#pragma once
#include <cstddef>

#include <tenon/kernel/cpu/tile.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::kernel {

/// x [planes, h, w], y [planes, oh, ow]; padding below and to the right follows from oh and ow. Planes are the items that threads
/// divide. Each window must hold at least one element of x (MindSpore's pad modes "same" and "valid", and "pad" up to half the window).
struct Pool2dSizes {
  long planes, h, w, oh, ow;
  int kh, kw, stride_h, stride_w, pad_top, pad_left;
};

namespace detail {
// The rows and columns of x under one window.
struct Window {
  long top, bottom, left, right;
  constexpr long count() const { return (bottom - top) * (right - left); }
};
constexpr Window window(const Pool2dSizes& s, long i, long j) {
  const long y = i * s.stride_h - s.pad_top, x = j * s.stride_w - s.pad_left;
  return {y > 0 ? y : 0, y + s.kh < s.h ? y + s.kh : s.h, x > 0 ? x : 0, x + s.kw < s.w ? x + s.kw : s.w};
}

// Position of the first maximum. The first element begins; a later one takes over only if it is greater.
template <class T>
[[gnu::always_inline]] inline long first_maximum(const Pool2dSizes& s, const T* x, const Window& at) {
  long best = at.top * s.w + at.left;
  Compute<T> value = widened(x[best]);
  for (long y = at.top; y < at.bottom; ++y)
    for (long k = at.left; k < at.right; ++k) {
      const Compute<T> other = widened(x[y * s.w + k]);
      const bool greater = is_greater<T>(other, value);
      best = greater ? y * s.w + k : best;
      value = greater ? other : value;
    }
  return best;
}
}  // namespace detail
}
TENON_EXACT_END
