// Elementary functions of elements and of vectors of them, the same for every mode, kernel, and loop.
#pragma once
#include <bit>
#include <cstdint>
#include <limits>

#include <tenon/core/math/libm.hpp>
#include <tenon/core/math/polynomial.hpp>
#include <tenon/core/math/pow.hpp>
#include <tenon/core/simd/simd.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::math {

// In float exp, log, log1p, tanh, and erfc are written without branches, so that compilers vectorise the loops around
// them. The steps are those of IEEE 754 arithmetic in a fixed order: a vector and a single element get the same bits.
// What remains calls the C library, whose results do not depend on the loop around the call either.

TENON_DEVICE inline float sqrt(float x) { return __builtin_sqrtf(x); }
TENON_DEVICE inline double sqrt(double x) { return __builtin_sqrt(x); }
template <class T, int Width>
[[gnu::always_inline]] inline Simd<T, Width> sqrt(Simd<T, Width> x) {
  return square_root(x);
}
TENON_DEVICE inline float floor(float x) { return __builtin_floorf(x); }
TENON_DEVICE inline double floor(double x) { return __builtin_floor(x); }

// For code that is the same for an element and for a vector of them: of vectors Simd's own, lane by lane. nvcc refuses
// vectors in __device__ functions, but lets device code call constexpr ones for elements.

/// a > b ? x : y.
template <class V>
[[gnu::always_inline]] TENON_DEVICE inline V where_greater(V a, V b, V x, V y) {
  if constexpr (std::is_arithmetic_v<V>) return a > b ? x : y;
  else return choose_greater(a, b, x, y);
}
/// a > b ? a : b, hence b where either is NaN.
template <class V>
[[gnu::always_inline]] constexpr V larger(V a, V b) {
  if constexpr (std::is_arithmetic_v<V>) return a > b ? a : b;
  else return max(a, b);
}
/// a < b ? a : b, hence b where either is NaN.
template <class V>
[[gnu::always_inline]] constexpr V smaller(V a, V b) {
  if constexpr (std::is_arithmetic_v<V>) return a < b ? a : b;
  else return min(a, b);
}

namespace detail {
// ln 2 in two parts; the first has few digits, so that a small whole number times it is exact.
inline constexpr float ln2_high = 0x1.62ep-1f, ln2_low = 3.19461849453094e-05f;
inline constexpr float infinity = std::numeric_limits<float>::infinity();
// condition ? a : b, without the branch that a compiler may make of it, which would keep the loop around it scalar.
[[gnu::always_inline]] TENON_DEVICE constexpr float choose(bool condition, float a, float b) {
  const std::uint32_t mask = 0u - static_cast<std::uint32_t>(condition);
  return std::bit_cast<float>((std::bit_cast<std::uint32_t>(a) & mask) | (std::bit_cast<std::uint32_t>(b) & ~mask));
}
[[gnu::always_inline]] TENON_DEVICE inline float power_of_two(std::uint32_t exponent) {
  return std::bit_cast<float>((exponent + 127u) << 23);
}
}  // namespace detail

namespace detail::exponential {
inline constexpr float lowest = -104, highest = 89;  // beyond: 0 and infinity
inline constexpr float to_integer = 0x1.8p23f;       // added to a small number it leaves no room for a fraction
inline constexpr float c[]{0.5000000013f,   0.1666666668f,   0.04166646471f,
                           0.008333310902f, 0.001393367373f, 0.0001989101718f};
}  // namespace detail::exponential

/// eˣ, within 1 ulp. x = n ln 2 + r with |r| <= ln 2 / 2; (eʳ - 1 - r) / r² is a polynomial (interpolated at Chebyshev
/// points, error 1e-9).
TENON_DEVICE inline float exp(float x) {
  using namespace detail::exponential;
  x = x < lowest ? lowest : x;
  x = x > highest ? highest : x;
  const float shifted = fmadd(x, 1.44269504f, to_integer), n = shifted - to_integer;
  const float r = fmadd(n, -detail::ln2_low, fmadd(n, -detail::ln2_high, x));
  // one by one: to a device the numbers are known, the array is not
  const float power = 1.0f + fmadd(r * r, detail::polynomial({c[0], c[1], c[2], c[3], c[4], c[5]}, r), r);
  // 2ⁿ in two factors, since results near the limits of float need an n that has no float of its own.
  const std::uint32_t whole = std::bit_cast<std::uint32_t>(shifted) - std::bit_cast<std::uint32_t>(to_integer);
  const std::uint32_t half = static_cast<std::uint32_t>(static_cast<std::int32_t>(whole) >> 1);
  return power * detail::power_of_two(half) * detail::power_of_two(whole - half);
}
TENON_DEVICE inline double exp(double x) { return tenon::detail::libm::exp(x); }
/// The same steps in each lane. g++ makes no minima and maxima of the comparisons above, and a loop over an array of
/// lanes goes through memory.
template <int Width>
[[gnu::always_inline]] inline Simd<float, Width> exp(Simd<float, Width> x) {
  using namespace detail::exponential;
  using V = Simd<float, Width>;
  using Signed = typename Simd<std::int32_t, Width>::Vector;
  using Bits = typename Simd<std::uint32_t, Width>::Vector;
  x = min(V(highest), max(V(lowest), x));  // NaN stays
  const V shifted = fmadd(x, V(1.44269504f), V(to_integer)), n = shifted - V(to_integer);
  const V r = fmadd(n, V(-detail::ln2_low), fmadd(n, V(-detail::ln2_high), x));
  V sum(c[5]);
#pragma GCC unroll 8
  for (int i = 4; i >= 0; --i) sum = fmadd(sum, r, V(c[i]));
  const V power = V(1.0f) + fmadd(r * r, sum, r);
  const Bits whole = reinterpret_cast<Bits>(shifted.lanes) - std::bit_cast<std::uint32_t>(to_integer),
             half = reinterpret_cast<Bits>(reinterpret_cast<Signed>(whole) >> 1);
  const auto power_of_two = [](Bits exponent) __attribute__((always_inline)) {
    return V(reinterpret_cast<typename V::Vector>((exponent + 127u) << 23));
  };
  return power * power_of_two(half) * power_of_two(whole - half);
}
template <int Width>
[[gnu::always_inline]] inline Simd<double, Width> exp(Simd<double, Width> x) {
  for (int lane = 0; lane < Width; ++lane) x.lanes[lane] = exp(x[lane]);
  return x;
}

namespace detail {
/// A positive and finite x as 2ⁿ (1 + f) with 1 + f between √½ and √2; `series` is (ln(1 + f) - f + f²/2) / f³, a
/// polynomial (error 5e-9).
struct LogarithmParts {
  float n, f, series;
};
[[gnu::always_inline]] TENON_DEVICE inline LogarithmParts logarithm_parts(float x) {
  const bool denormal = x < 0x1p-126f;
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(x * choose(denormal, 0x1p23f, 1.0f));
  const std::int32_t n = static_cast<std::int32_t>(bits - std::bit_cast<std::uint32_t>(0.707106781f)) >> 23;
  const float f = std::bit_cast<float>(bits - (static_cast<std::uint32_t>(n) << 23)) - 1.0f;
  constexpr float c[]{0.3333333328f,  -0.2499999027f, 0.2000001004f,  -0.1666800154f, 0.1428652463f,
                      -0.1245074289f, 0.1103778131f,  -0.1064619335f, 0.1053087996f,  -0.06201515447f};
  return {static_cast<float>(n) - choose(denormal, 23.0f, 0.0f), f, polynomial(c, f)};
}
/// The logarithm of x, `result` where x is positive and finite.
[[gnu::always_inline]] TENON_DEVICE inline float logarithm_limits(float x, float result) {
  result = choose(x < infinity, result, x);  // infinity and NaN
  result = choose(x < 0, std::numeric_limits<float>::quiet_NaN(), result);
  return choose(x == 0, -infinity, result);
}
}  // namespace detail

namespace detail {
// For the loops of functions that are longer than what compilers inline on their own.
[[gnu::always_inline]] TENON_DEVICE inline float logarithm(float x) {
  const auto [n, f, series] = logarithm_parts(x);
  const float square = f * f, tail = fmadd(f * square, series, n * ln2_low);
  return logarithm_limits(x, fmadd(n, ln2_high, fmadd(square, -0.5f, tail) + f));
}
/// ln(1 + x) from the logarithm of the rounded sum, and a correction for what the rounding cut off.
[[gnu::always_inline]] TENON_DEVICE inline float corrected_log1p(float x, float sum, float logarithm) {
  const float cut = x - (sum - 1.0f);
  const bool finite = (sum > 0) & (sum < infinity);
  return logarithm + choose(finite, cut, 0.0f) / choose(finite, sum, 1.0f);
}
[[gnu::always_inline]] TENON_DEVICE inline float logarithm_1p(float x) {
  return corrected_log1p(x, 1.0f + x, logarithm(1.0f + x));
}
}  // namespace detail

/// ln x, within 1 ulp.
TENON_DEVICE inline float log(float x) { return detail::logarithm(x); }
TENON_DEVICE inline double log(double x) { return tenon::detail::libm::log(x); }

/// ln(1 + x), within 2 ulp.
TENON_DEVICE inline float log1p(float x) { return detail::corrected_log1p(x, 1.0f + x, log(1.0f + x)); }
TENON_DEVICE inline double log1p(double x) { return tenon::detail::libm::log1p(x); }

/// tanh x, within 2 ulp: an odd polynomial near zero (error 1e-10), else 1 - 2 / (e^2|x| + 1).
TENON_DEVICE inline float tanh(float x) {
  constexpr float c[]{-0.3333333332f,   0.1333333105f,   -0.05396737977f, 0.02185685146f,
                      -0.008775052598f, 0.003268051101f, -0.000828160781f};
  const float size = __builtin_fabsf(x), square = x * x;
  const float near = fmadd(x * square, detail::polynomial(c, square), x);
  const float far = 1.0f - 2.0f / (exp(size + size) + 1.0f);
  return __builtin_copysignf(detail::choose(size < 0.65f, near, far), x);
}
TENON_DEVICE inline double tanh(double x) { return tenon::detail::libm::tanh(x); }

namespace detail {
[[gnu::always_inline]] TENON_DEVICE inline float complement(float x) {
  constexpr float highest = 10.5f;  // beyond: 0
  constexpr float c[]{1.276978389f,     -0.09276401488f, -0.1660311702f,  0.1640559952f,    -0.0542064793f,
                      -0.008063466023f, 0.008637280298f, 0.001321070761f, -0.001234041316f, -0.0004056067344f};
  float size = __builtin_fabsf(x);
  size = choose(size > highest, highest, size);
  const float square = size * size, high = std::bit_cast<float>(std::bit_cast<std::uint32_t>(size) & 0xfffff000u);
  // what the square lost to rounding; without fmadd, too
  const float cut = (high * high - square) + (size - high) * (size + high);
  const float power = exp(-square), factor = polynomial(c, (size - 2.0f) / (size + 2.0f)) / fmadd(size, 2.0f, 1.0f);
  const float tail = fmadd(-cut, power, power) * factor;
  return choose(x < 0, 2.0f - tail, tail);
}
}  // namespace detail
/// erfc x = 1 - erf x, within 5 ulp, below zero within 3: e^-x² / (1 + 2|x|) times a polynomial in (|x| - 2) / (|x| +
/// 2) (error 2e-8), which keeps its digits while the result is above 1e-38; 2 minus that for negative x.
TENON_DEVICE inline float erfc(float x) { return detail::complement(x); }
TENON_DEVICE inline double erfc(double x) { return tenon::detail::libm::erfc(x); }

namespace detail {
TENON_DEVICE inline double logarithm(double x) { return log(x); }
TENON_DEVICE inline double logarithm_1p(double x) { return log1p(x); }
TENON_DEVICE inline double complement(double x) { return erfc(x); }
}  // namespace detail

}  // namespace tenon::math
TENON_EXACT_END
