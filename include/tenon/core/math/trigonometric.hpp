// sin, cos, tan and their inverses in float32, for all arguments, with the same bits in every loop, mode, and target.
//
// They are not xsimd's, which cannot run in device code, and whose bits depend on the instruction set: of 2^20 sines of
// arguments in [-9, 9), computed by xsimd 8.1, 0.1 % have other bits with AVX-512 than with AVX2, and 0.9 % with SSE2.
#pragma once
#include <tenon/core/math/root.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::math {

namespace detail::circle {
// π/2 and π in two parts, the second for what the first lacks.
inline constexpr float quarter = 1.57079637f, quarter_low = -4.37113883e-8f, half = 3.14159274f,
                       half_low = -8.74227766e-8f;
/// x = quarters π/2 + rest, |rest| <= π/4; of the number of quarters the last two bits count.
struct Angle {
  float rest;
  std::uint32_t quarters;
};

/// The usual arguments, for which `usual_angle` is right; NaN counts among them.
inline constexpr float usual_limit = 6000;
[[gnu::always_inline]] TENON_DEVICE inline bool is_usual(float x) {
  return !((x >= usual_limit) | (x <= -usual_limit));
}
/// π/2 is split into parts of 12 bits, so that their products with the number of quarters are exact.
[[gnu::always_inline]] TENON_DEVICE inline Angle usual_angle(float x) {
  constexpr float to_integer = exponential::to_integer;
  const float shifted = fmadd(x, 0.636619747f, to_integer), n = shifted - to_integer;
  const float first = fmadd(n, -0x1.fb4p-12f, fmadd(n, -0x1.92p+0f, x));
  return {fmadd(n, -0x1.68c234p-39f, fmadd(n, -0x1.444p-24f, first)),
          std::bit_cast<std::uint32_t>(shifted) - std::bit_cast<std::uint32_t>(to_integer)};
}
/// For large arguments: x is a whole number times a power of two, whose product with 2/π is computed modulo 4, exact to
/// 2^-62 (Payne and Hanek 1983). NaN for infinity.
TENON_DEVICE inline Angle large_angle(float x) {
  constexpr std::uint32_t digits[]{0,          0xa2f9836e, 0x4e441529, 0xfc2757d1,
                                   0xf534ddc0, 0xdb629599, 0x3c439041, 0xfe5163ab};  // of 2/π
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(x) & 0x7fffffffu;
  if (bits >= 0x7f800000u) return {std::numeric_limits<float>::quiet_NaN(), 0};
  const std::uint64_t whole = (bits & 0x7fffffu) | 0x800000u;
  const std::uint32_t first = (bits >> 23) - 120u, word = first / 32u, shift = first % 32u;  // first digit below 4
  const std::uint64_t high = (std::uint64_t{digits[word]} << 32) | digits[word + 1],
                      low = (std::uint64_t{digits[word + 2]} << 32) | digits[word + 3];
  const std::uint64_t upper = shift ? (high << shift) | (low >> (64u - shift)) : high, lower = (low << shift) >> 32;
  const std::uint64_t product = whole * upper + ((whole * lower) >> 32);  // 2 bits of quarters, 62 of their fraction
  const std::uint64_t quarters = (product + (std::uint64_t{1} << 61)) >> 62;
  const auto fraction = static_cast<double>(static_cast<std::int64_t>(product - (quarters << 62)));
  const float rest = static_cast<float>(fraction * (1.5707963267948966 * 0x1p-62));
  return x < 0 ? Angle{-rest, 0u - static_cast<std::uint32_t>(quarters)}
               : Angle{rest, static_cast<std::uint32_t>(quarters)};
}

/// The sine of an angle with some quarters more (1: the cosine), from polynomials in the square of the rest (errors
/// 3e-11 and 2e-12).
[[gnu::always_inline]] TENON_DEVICE inline float sine(Angle of, std::uint32_t more) {
  const std::uint32_t quarters = of.quarters + more;
  const float r = of.rest, square = r * r;
  const float s =
      fmadd(r * square, polynomial({-0.16666667f, 0.008333332f, -0.00019840083f, 2.7249314e-06f}, square), r);
  const float c =
      fmadd(square * square, polynomial({0.041666668f, -0.0013888888f, 2.4800596e-05f, -2.730045e-07f}, square),
            fmadd(square, -0.5f, 1.0f));
  const float value = choose((quarters & 1u) != 0, c, s);
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(value) ^ ((quarters & 2u) << 30));
}
/// The tangent, from a polynomial (error 9e-9).
[[gnu::always_inline]] TENON_DEVICE inline float tangent(Angle of) {
  const float r = of.rest, square = r * r;
  const float t = fmadd(
      r * square,
      polynomial({0.33333334f, 0.1333323f, 0.053994786f, 0.021618612f, 0.0099709565f, 0.0011712618f, 0.0038514743f},
                 square),
      r);
  const bool odd = (of.quarters & 1u) != 0;
  return choose(odd, -1.0f, t) / choose(odd, t, 1.0f);
}

/// atan t for 0 <= t <= 1 (error of the polynomial 3e-9).
[[gnu::always_inline]] TENON_DEVICE inline float arctangent(float t) {
  const float square = t * t;
  return fmadd(t * square,
               polynomial({-0.33333334f, 0.1999995f, -0.14284004f, 0.11088262f, -0.08931827f, 0.070319146f,
                           -0.048960514f, 0.026305001f, -0.009144629f, 0.0014886919f},
                          square),
               t);
}
/// asin |x| of a small x, else asin √((1 - |x|) / 2), which is acos |x| / 2; NaN beyond 1. (Error of the polynomial
/// 4e-9.)
[[gnu::always_inline]] TENON_DEVICE inline bool is_large(float x) { return __builtin_fabsf(x) > 0.5f; }
[[gnu::always_inline]] TENON_DEVICE inline float arcsine(float x) {
  const float size = __builtin_fabsf(x);
  const bool large = is_large(x);
  const float square = choose(large, 0.5f - 0.5f * size, size * size);
  const float s = choose(large, math::root(square), size);
  return fmadd(s * square,
               polynomial({0.16666666f, 0.07500094f, 0.044599403f, 0.031100662f, 0.017149238f, 0.033690847f}, square),
               s);
}
}  // namespace detail::circle

/// Whether x is a usual argument of sin, cos, and tan.
[[gnu::always_inline]] TENON_DEVICE inline bool is_usual_angle(float x) { return detail::circle::is_usual(x); }
TENON_DEVICE inline bool is_usual_angle(double) { return true; }

/// sin x and cos x within 2.4 ulp, tan x within 3.2. The names with `usual` are those for usual arguments alone.
[[gnu::always_inline]] TENON_DEVICE inline float usual_sin(float x) {
  return detail::choose(x == 0, x, detail::circle::sine(detail::circle::usual_angle(x), 0));
}
[[gnu::always_inline]] TENON_DEVICE inline float usual_cos(float x) {
  return detail::circle::sine(detail::circle::usual_angle(x), 1);
}
[[gnu::always_inline]] TENON_DEVICE inline float usual_tan(float x) {
  return detail::circle::tangent(detail::circle::usual_angle(x));
}
TENON_DEVICE inline float sin(float x) {
  return detail::circle::is_usual(x) ? usual_sin(x) : detail::circle::sine(detail::circle::large_angle(x), 0);
}
TENON_DEVICE inline float cos(float x) {
  return detail::circle::is_usual(x) ? usual_cos(x) : detail::circle::sine(detail::circle::large_angle(x), 1);
}
TENON_DEVICE inline float tan(float x) {
  return detail::circle::is_usual(x) ? usual_tan(x) : detail::circle::tangent(detail::circle::large_angle(x));
}
TENON_DEVICE inline double sin(double x) { return tenon::detail::libm::sin(x); }
TENON_DEVICE inline double usual_sin(double x) { return sin(x); }
TENON_DEVICE inline double cos(double x) { return tenon::detail::libm::cos(x); }
TENON_DEVICE inline double usual_cos(double x) { return cos(x); }
TENON_DEVICE inline double tan(double x) { return tenon::detail::libm::tan(x); }
TENON_DEVICE inline double usual_tan(double x) { return tan(x); }

/// asin x within 2.4 ulp, acos x and atan x within 1.3.
[[gnu::always_inline]] TENON_DEVICE inline float asin(float x) {
  using namespace detail::circle;
  const float value = arcsine(x), far = quarter - (value + value - quarter_low);
  return __builtin_copysignf(detail::choose(is_large(x), far, value), x);
}
[[gnu::always_inline]] TENON_DEVICE inline float acos(float x) {
  using namespace detail::circle;
  const float value = arcsine(x), twice = value + value;
  const float far = detail::choose(x < 0, half - (twice - half_low), twice);
  return detail::choose(is_large(x), far, quarter - (__builtin_copysignf(value, x) - quarter_low));
}
[[gnu::always_inline]] TENON_DEVICE inline float atan(float x) {
  using namespace detail::circle;
  const float size = __builtin_fabsf(x);
  const bool steep = size > 1.0f;
  const float value = arctangent(detail::choose(steep, 1.0f, size) / detail::choose(steep, size, 1.0f));
  return __builtin_copysignf(detail::choose(steep, quarter - (value - quarter_low), value), x);
}
/// The angle of the point (x, y), as the C library's also for zeros and infinities of either sign; within 1.5 ulp.
[[gnu::always_inline]] TENON_DEVICE inline float atan2(float y, float x) {
  using namespace detail::circle;
  const float a = __builtin_fabsf(y), b = __builtin_fabsf(x);
  const bool steep = a > b, same = (a == b) & ((a == 0) | (a == detail::infinity));
  const float small = detail::choose(steep, b, a), large = detail::choose(steep, a, b);
  const float ratio =
      detail::choose(same, detail::choose(a == 0, 0.0f, 1.0f), small) / detail::choose(same, 1.0f, large);
  float value = arctangent(ratio);
  value = detail::choose(steep, quarter - (value - quarter_low), value);
  value = detail::choose(std::bit_cast<std::int32_t>(x) < 0, half - (value - half_low), value);
  return detail::choose((x != x) | (y != y), x + y, __builtin_copysignf(value, y));
}
TENON_DEVICE inline double asin(double x) { return tenon::detail::libm::asin(x); }
TENON_DEVICE inline double acos(double x) { return tenon::detail::libm::acos(x); }
TENON_DEVICE inline double atan(double x) { return tenon::detail::libm::atan(x); }
TENON_DEVICE inline double atan2(double y, double x) { return tenon::detail::libm::atan2(y, x); }

}  // namespace tenon::math
TENON_EXACT_END
