// Powers, the same for every mode, kernel, and target.
#pragma once
#include <bit>
#include <cstdint>
#include <limits>

#include <tenon/core/math/libm.hpp>
#include <tenon/core/math/polynomial.hpp>
#include <tenon/core/simd/simd.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::math {

namespace detail {
/// The logarithm to base 2 of a positive, finite, and normal number, within 2^-49: for x = 2^k m, √½ <= m <= √2,
/// it is k + 2 atanh((m - 1) / (m + 1)) / ln 2.
TENON_DEVICE inline double log2_of_normal(double x) {
  // 2 / ((2i + 1) ln 2)
  constexpr double c[]{2.8853900817779268,  0.96179669392597555, 0.57707801635558537, 0.41219858311113240,
                       0.32059889797532520, 0.26230818925253880, 0.22195308321368667, 0.19235933878519512,
                       0.16972882833987805, 0.15186263588304878};
  constexpr std::uint64_t fraction = (std::uint64_t{1} << 52) - 1, one = std::uint64_t{1023} << 52;
  const auto bits = std::bit_cast<std::uint64_t>(x);
  double m = std::bit_cast<double>((bits & fraction) | one);
  auto k = static_cast<double>(static_cast<std::int32_t>(bits >> 52) - 1023);
  if (m > 1.4142135623730951) m *= 0.5, k += 1;
  const double t = (m - 1) / (m + 1);
  return fmadd(t, polynomial(c, t * t), k);
}
/// 2 to a power between -200 and 200, within 2^-49: with x = n + f and n a whole number it is 2^n e^(f ln 2).
TENON_DEVICE inline double exp2_of_small(double x) {
  // (ln 2)^i / i!
  constexpr double c[]{1,
                       0.69314718055994531,
                       0.24022650695910071,
                       0.055504108664821580,
                       0.0096181291076284772,
                       0.0013333558146428443,
                       0.00015403530393381609,
                       1.5252733804059840e-5,
                       1.3215486790144309e-6,
                       1.0178086009239699e-7,
                       7.0549116208011233e-9,
                       4.4455382718708114e-10};
  constexpr double shift = 0x1.8p52;  // a sum with it has no fraction
  const double n = (x + shift) - shift;
  const auto exponent = static_cast<std::uint64_t>(static_cast<std::int64_t>(n) + 1023) << 52;
  return polynomial(c, x - n) * std::bit_cast<double>(exponent);
}
}  // namespace detail

/// x to the power of y, as the C library's powf, but within 0.501 ulp on every target: it is computed in double, from
/// 2^(y log2 |x|). NaN for a negative x with a fractional y.
TENON_DEVICE inline float pow(float x, float y) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  if (x == 1 || y == 0) return 1;
  if (x != x || y != y) return std::numeric_limits<float>::quiet_NaN();
  const float size = __builtin_fabsf(x), size_of_y = __builtin_fabsf(y);
  const bool whole = size_of_y >= 0x1p24f || static_cast<float>(static_cast<std::int32_t>(y)) == y;
  const bool odd = size_of_y < 0x1p24f && whole && (static_cast<std::int32_t>(y) & 1) != 0;
  if (x < 0 && !whole) return size < infinity ? std::numeric_limits<float>::quiet_NaN() : y < 0 ? 0 : infinity;
  const float sign = odd ? __builtin_copysignf(1, x) : 1;
  if (size == 1) return sign;
  if (size == 0 || size == infinity) return (size == 0) == (y < 0) ? sign * infinity : sign * 0.0f;
  const double exponent = static_cast<double>(y) * detail::log2_of_normal(static_cast<double>(size));
  return sign * static_cast<float>(detail::exp2_of_small(exponent > 200 ? 200 : exponent < -200 ? -200 : exponent));
}
TENON_DEVICE inline double pow(double x, double y) { return tenon::detail::libm::pow(x, y); }
template <class T, int Width>
inline Simd<T, Width> pow(Simd<T, Width> x, T y) {
  for (int lane = 0; lane < Width; ++lane) x.lanes[lane] = pow(T(x.lanes[lane]), y);
  return x;
}

}  // namespace tenon::math
TENON_EXACT_END
