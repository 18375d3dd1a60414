// sinh and cosh, and the inverses of the hyperbolic functions, without branches, as in core/math/elementary.hpp.
#pragma once
#include <tenon/core/math/root.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::math {

namespace detail {
/// eˣ / 2 for x >= 0, also where eˣ is too large for a float.
[[gnu::always_inline]] TENON_DEVICE inline float half_exp(float x) {
  using namespace exponential;
  x = x > 90.0f ? 90.0f : x;
  const float shifted = fmadd(x, 1.44269504f, to_integer), n = shifted - to_integer;
  const float r = fmadd(n, -ln2_low, fmadd(n, -ln2_high, x));
  const float power = 1.0f + fmadd(r * r, polynomial({c[0], c[1], c[2], c[3], c[4], c[5]}, r), r);
  const std::uint32_t whole = std::bit_cast<std::uint32_t>(shifted) - std::bit_cast<std::uint32_t>(to_integer);
  return power * power_of_two(whole - 65u) * 0x1p64f;
}
}  // namespace detail

/// sinh x = eˣ/2 - e⁻ˣ/2, within 1.7 ulp, near zero an odd polynomial (error 2e-10).
[[gnu::always_inline]] TENON_DEVICE inline float sinh(float x) {
  const float size = __builtin_fabsf(x), square = x * x, half = detail::half_exp(size);
  const float near = fmadd(
      size * square, detail::polynomial({0.16666667f, 0.008333339f, 0.00019838102f, 2.8062802e-06f}, square), size);
  return __builtin_copysignf(detail::choose(size < 1.0f, near, half - 0.25f / half), x);
}
/// cosh x, within 1.5 ulp.
[[gnu::always_inline]] TENON_DEVICE inline float cosh(float x) {
  const float half = detail::half_exp(__builtin_fabsf(x));
  return half + 0.25f / half;
}
/// asinh x = ln(1 + (|x| + x² / (1 + √(1 + x²)))) with the sign of x, within 2.2 ulp; ln |x| + ln 2 where a
/// square has no float.
[[gnu::always_inline]] TENON_DEVICE inline float asinh(float x) {
  const float size = __builtin_fabsf(x);
  const bool large = size > 0x1p28f;
  const float cut = detail::choose(large, 1.0f, size), square = cut * cut;
  const float sum = cut + square / (1.0f + root(1.0f + square));
  const float value =
      detail::logarithm_1p(detail::choose(large, size, sum)) + detail::choose(large, 0.693147181f, 0.0f);
  return __builtin_copysignf(value, x);
}
/// acosh x = ln(1 + (t + √(t² + 2t))), t = x - 1, within 2.8 ulp; NaN below 1.
[[gnu::always_inline]] TENON_DEVICE inline float acosh(float x) {
  const bool large = x > 0x1p28f;
  const float t = detail::choose(large, 1.0f, x) - 1.0f, square_root = root(t * (t + 2.0f));
  return detail::logarithm_1p(detail::choose(
             large, x, detail::choose(x < 1, std::numeric_limits<float>::quiet_NaN(), t + square_root))) +
         detail::choose(large, 0.693147181f, 0.0f);
}
/// atanh x = ln(1 + 2|x| / (1 - |x|)) / 2 with the sign of x, within 2.5 ulp; NaN beyond 1.
[[gnu::always_inline]] TENON_DEVICE inline float atanh(float x) {
  const float size = __builtin_fabsf(x);
  return __builtin_copysignf(0.5f * detail::logarithm_1p((size + size) / (1.0f - size)), x);
}
TENON_DEVICE inline double sinh(double x) { return tenon::detail::libm::sinh(x); }
TENON_DEVICE inline double cosh(double x) { return tenon::detail::libm::cosh(x); }
TENON_DEVICE inline double asinh(double x) { return tenon::detail::libm::asinh(x); }
TENON_DEVICE inline double acosh(double x) { return tenon::detail::libm::acosh(x); }
TENON_DEVICE inline double atanh(double x) { return tenon::detail::libm::atanh(x); }

}  // namespace tenon::math
TENON_EXACT_END
