// Exponentials beside eˣ: expm1 and exp2, without branches, as in core/math/elementary.hpp.
#pragma once
#include <tenon/core/math/elementary.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::math {

/// eˣ - 1, within 1.5 ulp, also near 0. With x = n ln 2 + r it is 2ⁿ (eʳ - 1) + (2ⁿ - 1), twice a sum in which 2ⁿ
/// has a float up to the largest result.
[[gnu::always_inline]] TENON_DEVICE inline float expm1(float x) {
  using namespace detail::exponential;
  float cut = x < -20.0f ? -20.0f : x;  // -1
  cut = cut > highest ? highest : cut;
  const float shifted = fmadd(cut, 1.44269504f, to_integer), n = shifted - to_integer;
  const float r = fmadd(n, -detail::ln2_low, fmadd(n, -detail::ln2_high, cut));
  const float power = fmadd(r * r, detail::polynomial({c[0], c[1], c[2], c[3], c[4], c[5]}, r), r);  // less 1
  const float half =
      detail::power_of_two(std::bit_cast<std::uint32_t>(shifted) - std::bit_cast<std::uint32_t>(to_integer) - 1u);
  const float sum = fmadd(power, half, half - 0.5f);
  return detail::choose(__builtin_fabsf(x) < 0x1p-25f, x, sum + sum);
}
TENON_DEVICE inline double expm1(double x) { return tenon::detail::libm::expm1(x); }

/// 2ˣ, within 1 ulp (1.2 without a fused multiply-add); exact for whole numbers. x is n + r, and n is added to the
/// exponent of 2ʳ; (2ʳ - 1) / r is a polynomial (error 8e-9).
[[gnu::always_inline]] TENON_DEVICE inline float exp2(float x) {
  constexpr float to_integer = detail::exponential::to_integer;
  float cut = detail::choose(x < -126.0f, -126.0f, x);  // denormal, hence 0
  cut = detail::choose(cut > 128.0f, 128.0f, cut);
  const float shifted = cut + to_integer, r = cut - (shifted - to_integer);
  const float power =
      fmadd(detail::polynomial({0.6931472f, 0.2402265f, 0.05550357f, 0.009618083f, 0.0013390863f, 0.00015453163f}, r),
            r, 1.0f);
  const std::uint32_t whole = std::bit_cast<std::uint32_t>(shifted) - std::bit_cast<std::uint32_t>(to_integer);
  const float result = std::bit_cast<float>(std::bit_cast<std::uint32_t>(power) + (whole << 23));
  return detail::choose(x >= -126.0f, result, detail::choose(x < 0, 0.0f, x));  // NaN stays
}
TENON_DEVICE inline double exp2(double x) { return tenon::detail::libm::exp2(x); }

}  // namespace tenon::math
TENON_EXACT_END
