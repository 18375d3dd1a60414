// Powers, the same for every mode, kernel, and target.
#pragma once
#include <bit>
#include <cstdint>
#include <limits>

#include <tenon/core/math/either.hpp>
#include <tenon/core/math/libm.hpp>
#include <tenon/core/math/polynomial.hpp>
#include <tenon/core/simd/simd.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::math {

// Without branches: a loop over numbers becomes vector instructions, also in a chain of element-wise steps.
namespace detail {
/// The logarithm to base 2 of a positive, finite, and normal number, within 2^-49: for x = 2^k m, √½ <= m < √2,
/// it is k + 2 atanh((m - 1) / (m + 1)) / ln 2. Of others it is some number, or NaN.
[[gnu::always_inline]] TENON_DEVICE inline double log2_of_normal(double x) {
  // 2 / ((2i + 1) ln 2)
  constexpr double c[]{2.8853900817779268,  0.96179669392597555, 0.57707801635558537, 0.41219858311113240,
                       0.32059889797532520, 0.26230818925253880, 0.22195308321368667, 0.19235933878519512,
                       0.16972882833987805, 0.15186263588304878};
  constexpr std::uint64_t root_of_half = 0x3fe6a09e667f3bcd, shift = std::uint64_t{1024} << 52;
  const auto bits = std::bit_cast<std::uint64_t>(x), power = (bits - root_of_half + shift) >> 52;  // and 1024 more
  const double k = std::bit_cast<double>(power | std::bit_cast<std::uint64_t>(0x1p52)) - (0x1p52 + 1024);
  const double m = std::bit_cast<double>(bits - (power << 52) + shift), t = (m - 1) / (m + 1);
  return fmadd(t, polynomial(c, t * t), k);
}
/// 2 to a power between -200 and 200, within 2^-49: with x = n + f and n a whole number it is 2^n e^(f ln 2).
[[gnu::always_inline]] TENON_DEVICE inline double exp2_of_small(double x) {
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
                       4.4455382708718114e-10};
  constexpr double to_integer = 0x1.8p52;  // a sum with it has no fraction
  const double shifted = x + to_integer;
  const double power = std::bit_cast<double>((std::bit_cast<std::uint64_t>(shifted) + 1023u) << 52);
  return polynomial(c, x - (shifted - to_integer)) * power;
}
}  // namespace detail

/// x to the power of y, as the C library's powf, but within 0.501 ulp on every target: it is computed in double, from
/// 2^(y log2 |x|). NaN for a negative x with a fractional y.
[[gnu::always_inline]] TENON_DEVICE inline float pow(float x, float y) {
  constexpr float infinity = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  const float size = __builtin_fabsf(x);
  const double exponent = static_cast<double>(y) * detail::log2_of_normal(static_cast<double>(size));
  const double cut = either(exponent < -200, -200.0, either(exponent > 200, 200.0, exponent));
  float power = static_cast<float>(detail::exp2_of_small(cut));
  power = either((size == 0) | (size == infinity), either((size == 0) == (y < 0), infinity, 0.0f), power);
  power = either(size == 1, 1.0f, power);
  // a large y is whole and even
  const float own = either(__builtin_fabsf(y) < 0x1p24f, y, 0.0f);
  const auto whole = static_cast<std::int32_t>(own);
  const bool fractional = static_cast<float>(whole) != own;
  const std::uint32_t odd = static_cast<std::uint32_t>(whole) & static_cast<std::uint32_t>(!fractional);
  const std::uint32_t sign = std::bit_cast<std::uint32_t>(x) & odd << 31;
  power = std::bit_cast<float>(std::bit_cast<std::uint32_t>(power) | sign);
  power = either((x != x) | (y != y) | ((x < 0) & fractional & (size < infinity)), nan, power);
  return either((x == 1) | (y == 0), 1.0f, power);
}
TENON_DEVICE inline double pow(double x, double y) { return tenon::detail::libm::pow(x, y); }
template <class T, int Width>
inline Simd<T, Width> pow(Simd<T, Width> x, T y) {
  T lanes[std::size_t(Width)];
  x.store(lanes);
  for (T& lane : lanes) lane = pow(lane, y);
  return Simd<T, Width>::load(lanes);
}

}  // namespace tenon::math
TENON_EXACT_END
