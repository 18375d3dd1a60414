// Remainders of floating-point division and of integers, and lengths: fmod, floor_mod, hypot.
#pragma once
#include <tenon/core/math/libm.hpp>
#include <tenon/core/math/root.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::math {

/// The usual operands of fmod, for which usual_fmod is right: with a quotient below 2^26.
[[gnu::always_inline]] TENON_DEVICE inline bool is_usual_fmod(float a, float b) {
  const float size = __builtin_fabsf(b);
  return (__builtin_fabsf(a) < size * 0x1p26f) & (size >= 0x1p-100f) & (size <= 0x1p100f);
}
/// In float64 the quotient is at least 2^-24 away from the next whole number, and the product is exact. So the nearest
/// number to the quotient minus nearly a half is the one below it, without a conversion to an integer, which other
/// operands may not have.
[[gnu::always_inline]] TENON_DEVICE inline float usual_fmod(float a, float b) {
  constexpr double to_integer = 0x1.8p52, half = 0.5 - 0x1p-26;
  const double x = static_cast<double>(__builtin_fabsf(a)), y = static_cast<double>(__builtin_fabsf(b));
  const double whole = (x / y - half + to_integer) - to_integer;
  return __builtin_copysignf(static_cast<float>(x - whole * y), a);
}
/// a - b trunc(a / b), exact, with the sign of a; NaN where a is infinite or b is 0.
TENON_DEVICE inline float fmod(float a, float b) {
  return is_usual_fmod(a, b) ? usual_fmod(a, b) : tenon::detail::libm::fmod(a, b);
}
TENON_DEVICE inline double fmod(double a, double b) { return tenon::detail::libm::fmod(a, b); }
TENON_DEVICE inline bool is_usual_fmod(double, double) { return true; }
TENON_DEVICE inline double usual_fmod(double a, double b) { return fmod(a, b); }

/// a - b trunc(a / b) of integers; 0 where b is 0.
template <class V>
TENON_DEVICE constexpr V integer_remainder(V a, V b) {
  if (b == V(0)) return V(0);
  if constexpr (std::is_signed_v<V>)
    if (b == V(-1)) return V(0);  // the smallest integer has no quotient
  return static_cast<V>(a % b);
}

/// √(a² + b²), within 1 ulp; infinity where one of them is infinite, also beside a NaN. Large and small numbers are
/// scaled by a power of two.
[[gnu::always_inline]] TENON_DEVICE inline float hypot(float a, float b) {
  a = __builtin_fabsf(a);
  b = __builtin_fabsf(b);
  const float most = a > b ? a : b;
  const bool large = most > 0x1p60f, small = most < 0x1p-40f;
  const float scale = detail::choose(large, 0x1p-80f, detail::choose(small, 0x1p80f, 1.0f)),
              back = detail::choose(large, 0x1p80f, detail::choose(small, 0x1p-80f, 1.0f));
  const float x = a * scale, y = b * scale;
  const bool infinite = (a == detail::infinity) | (b == detail::infinity);
  return detail::choose(infinite, detail::infinity, root(fmadd(x, x, y * y)) * back);
}
TENON_DEVICE inline double hypot(double a, double b) { return tenon::detail::libm::hypot(a, b); }

}  // namespace tenon::math
TENON_EXACT_END
