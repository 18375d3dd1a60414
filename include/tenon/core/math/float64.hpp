// exp and log of float64 with the same bits on each processor and GPU that has a fused multiply-add, which those of the
// C library do not promise: for kernels that compute in float64 whatever their dtype.
#pragma once
#include <bit>
#include <cstdint>
#include <limits>

#include <tenon/core/math/polynomial.hpp>
#include <tenon/core/simd/simd.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::math::float64 {

// Neither branches nor tables: a loop over 8 numbers becomes vector instructions, which are faster than calls of the C
// library, while one number takes half as much time again. Denormal numbers count as 0, whether the processor flushes
// them or, as a GPU does in float64, does not. Coefficients are interpolated at Chebyshev points.

/// condition ? a : b, without the branch that a compiler may make of it.
[[gnu::always_inline]] TENON_DEVICE inline double choose(bool condition, double a, double b) {
  const std::uint64_t mask = std::uint64_t{0} - static_cast<std::uint64_t>(condition);
  return std::bit_cast<double>((std::bit_cast<std::uint64_t>(a) & mask) | (std::bit_cast<std::uint64_t>(b) & ~mask));
}

namespace detail {
inline constexpr double infinity = std::numeric_limits<double>::infinity(),
                        nan = std::numeric_limits<double>::quiet_NaN(), smallest = std::numeric_limits<double>::min();
inline constexpr double to_integer = 0x1.8p52;  // added to a small number it leaves no room for a fraction
// ln 2 in two parts; the first has few digits, so that a whole number below 2^11 times it is exact.
inline constexpr double ln2_high = 0x1.62e42fefa3p-1, ln2_low = 0x1.3de6af278ece6p-42;
// Of exp: below and above, the result is 0 and infinity.
inline constexpr double lowest = -708.3964, highest = 710;

/// 2^n for n + to_integer, n between -1022 and 1023.
[[gnu::always_inline]] TENON_DEVICE inline double power_of_two(double shifted) {
  return std::bit_cast<double>((std::bit_cast<std::uint64_t>(shifted) + 1023u) << 52);
}
/// x 2^n, in two factors, since n may be 1024.
[[gnu::always_inline]] TENON_DEVICE inline double scaled(double x, double n) {
  const double half = fmadd(n, 0.5, to_integer), rest = n - (half - to_integer);
  return x * power_of_two(half) * power_of_two(rest + to_integer);
}
/// (e^r - 1 - r) / r² for |r| <= ln 2 / 2 (error 2e-18), as the sum of two chains that a processor computes at once.
[[gnu::always_inline]] TENON_DEVICE inline double exponential(double r) {
  constexpr double even[]{0.5,
                          0.04166666666666667,
                          0.0013888888888883748,
                          2.4801587325547743e-05,
                          2.75572736431103e-07,
                          2.0914686968086876e-09};
  constexpr double odd[]{0.1666666666666667, 0.008333333333326136, 0.00019841269874820627, 2.7557255400206422e-06,
                         2.5105217004720745e-08};
  const double square = r * r;
  return fmadd(math::detail::polynomial(odd, square), r, math::detail::polynomial(even, square));
}
/// x = 2^power m, x positive, finite, and normal, √½ <= m < √2.
struct Parts {
  double m, power;
};
[[gnu::always_inline]] TENON_DEVICE inline Parts parts(double x) {
  constexpr std::uint64_t root_of_half = 0x3fe6a09e667f3bcd, shift = std::uint64_t{1024} << 52;
  const auto bits = std::bit_cast<std::uint64_t>(x), power = (bits - root_of_half + shift) >> 52;  // and 1024 more
  return {std::bit_cast<double>(bits - (power << 52) + shift),
          std::bit_cast<double>(power | std::bit_cast<std::uint64_t>(0x1p52)) - (0x1p52 + 1024)};
}
}  // namespace detail

/// eˣ, within 1 ulp. 0 where the result would be denormal, from -708.3964 on.
[[gnu::always_inline]] TENON_DEVICE inline double exp(double x) {
  using namespace detail;
  const double cut = choose(x < lowest, lowest, choose(x > highest, highest, x));
  const double n = fmadd(cut, 1.4426950408889634, to_integer) - to_integer;
  const double r = fmadd(n, -ln2_low, fmadd(n, -ln2_high, cut));
  const double sum = 1.0 + r, rest = fmadd(r * r, exponential(r), 1.0 - sum + r);
  return choose(x < lowest, 0, scaled(sum + rest, n));
}
/// ln x, within 1 ulp. x = 2ⁿ (1 + f), s = f / (2 + f); ln(1 + f) is f - f²/2 + s (f²/2 + s² p(s²)), where 2s +
/// s³ p(s²) is the logarithm, too (error of p 3e-16).
[[gnu::always_inline]] TENON_DEVICE inline double log(double x) {
  using namespace detail;
  constexpr double c[]{0.666666666666667,   0.39999999999899444, 0.2857142862600327, 0.22222211130259878,
                       0.18182889455674947, 0.15331710618210773, 0.14616585424888623};
  const Parts of = parts(x);
  const double f = of.m - 1.0, s = f / (2.0 + f), square = s * s, half = f * 0.5;
  const double inner = fmadd(f, half, square * math::detail::polynomial(c, square));
  const double tail = fmadd(s, inner, of.power * ln2_low);
  double result = fmadd(of.power, ln2_high, fmadd(-half, f, tail) + f);
  result = choose(x < infinity, result, x);  // infinity and NaN
  result = choose(x < 0, nan, result);
  return choose((x > -smallest) & (x < smallest), -infinity, result);
}

}  // namespace tenon::math::float64
TENON_EXACT_END
