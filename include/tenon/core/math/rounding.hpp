// Rounding to whole numbers, without branches: g++ makes no vectors of the functions of the C library, which may raise
// exceptions of IEEE 754.
#pragma once
#include <tenon/core/config.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::math {

namespace detail {
// From here on each number is whole.
template <class V>
inline constexpr V whole_from = sizeof(V) == 4 ? V(0x1p23) : V(0x1p52);
TENON_DEVICE inline float magnitude(float x) { return __builtin_fabsf(x); }
TENON_DEVICE inline double magnitude(double x) { return __builtin_fabs(x); }
}  // namespace detail

/// The size of one number with the sign of another.
TENON_DEVICE inline float signed_as(float size, float sign) { return __builtin_copysignf(size, sign); }
TENON_DEVICE inline double signed_as(double size, double sign) { return __builtin_copysign(size, sign); }

/// The nearest whole number, the even one of two; -0 from negative numbers; NaN and infinity stay.
template <class V>
TENON_DEVICE inline V round(V x) {
  const V size = detail::magnitude(x), limit = detail::whole_from<V>, rounded = (size + limit) - limit;
  return signed_as(size < limit ? rounded : size, x);
}
/// The next whole number towards zero.
template <class V>
TENON_DEVICE inline V trunc(V x) {
  const V size = detail::magnitude(x), limit = detail::whole_from<V>, rounded = (size + limit) - limit;
  const V down = rounded > size ? rounded - V(1) : rounded;
  return signed_as(size < limit ? down : size, x);
}
/// The next whole number below, and above.
template <class V>
TENON_DEVICE inline V round_down(V x) {
  const V rounded = round(x);
  return signed_as(rounded > x ? rounded - V(1) : rounded, x);
}
template <class V>
TENON_DEVICE inline V round_up(V x) {
  const V rounded = round(x);
  return signed_as(rounded < x ? rounded + V(1) : rounded, x);
}

}  // namespace tenon::math
TENON_EXACT_END
