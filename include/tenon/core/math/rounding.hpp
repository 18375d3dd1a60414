// Rounding to whole numbers, without branches: of floor, ceil, and trunc of the C library, which may raise exceptions
// of IEEE 754, g++ makes no vectors.
#pragma once
#include <tenon/core/math/either.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::math {

namespace detail {
// From here on each number is whole.
template <class V>
inline constexpr V whole_from = sizeof(V) == 4 ? V(0x1p23) : V(0x1p52);
[[gnu::always_inline]] TENON_DEVICE inline float magnitude(float x) { return __builtin_fabsf(x); }
[[gnu::always_inline]] TENON_DEVICE inline double magnitude(double x) { return __builtin_fabs(x); }
}  // namespace detail

/// The size of one number with the sign of another.
[[gnu::always_inline]] TENON_DEVICE inline float signed_as(float size, float sign) {
  return __builtin_copysignf(size, sign);
}
[[gnu::always_inline]] TENON_DEVICE inline double signed_as(double size, double sign) {
  return __builtin_copysign(size, sign);
}

/// The nearest whole number, the even one of two; -0 from negative numbers; NaN and infinity stay.
template <class V>
[[gnu::always_inline]] TENON_DEVICE inline V round(V x) {
#if defined(__SSE4_1__) || defined(__aarch64__) || defined(__CUDA_ARCH__)
  if constexpr (sizeof(V) == 4) return __builtin_rintf(x);  // an instruction, of vectors as well
  else return __builtin_rint(x);
#else
  const V size = detail::magnitude(x), limit = detail::whole_from<V>, rounded = (size + limit) - limit;
  return signed_as(either(size < limit, rounded, size), x);
#endif
}
/// The next whole number towards zero.
template <class V>
[[gnu::always_inline]] TENON_DEVICE inline V trunc(V x) {
  const V size = detail::magnitude(x), limit = detail::whole_from<V>, rounded = (size + limit) - limit;
  const V down = rounded - either(rounded > size, V(1), V(0));
  return signed_as(either(size < limit, down, size), x);
}
/// The next whole number below, and above.
template <class V>
[[gnu::always_inline]] TENON_DEVICE inline V round_down(V x) {
  const V rounded = round(x);
  return signed_as(rounded - either(rounded > x, V(1), V(0)), x);
}
template <class V>
[[gnu::always_inline]] TENON_DEVICE inline V round_up(V x) {
  const V rounded = round(x);
  return signed_as(rounded + either(rounded < x, V(1), V(0)), x);
}

}  // namespace tenon::math
TENON_EXACT_END
