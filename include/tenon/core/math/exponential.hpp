// Exponentials beside eˣ: expm1 and exp2, without branches, as in core/math/elementary.hpp.
#pragma once
#include <tenon/core/math/elementary.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::math {

/// eˣ - 1, within 1.5 ulp, also near 0. With x = n ln 2 + r it is 2ⁿ (eʳ - 1) + (2ⁿ - 1), twice a sum in which 2ⁿ
/// has a float up to the largest result.
TENON_DEVICE inline float expm1(float x) {
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

/// 2ˣ, within 1 ulp; exact for whole numbers.
TENON_DEVICE inline float exp2(float x) {
  using namespace detail::exponential;
  x = x < -150.0f ? -150.0f : x;
  x = x > 129.0f ? 129.0f : x;
  const float shifted = x + to_integer, r = (x - (shifted - to_integer)) * 0.693147181f;
  const float power = 1.0f + fmadd(r * r, detail::polynomial({c[0], c[1], c[2], c[3], c[4], c[5]}, r), r);
  const std::uint32_t whole = std::bit_cast<std::uint32_t>(shifted) - std::bit_cast<std::uint32_t>(to_integer);
  const std::uint32_t half = static_cast<std::uint32_t>(static_cast<std::int32_t>(whole) >> 1);
  return power * detail::power_of_two(half) * detail::power_of_two(whole - half);
}
TENON_DEVICE inline double exp2(double x) { return tenon::detail::libm::exp2(x); }

}  // namespace tenon::math
TENON_EXACT_END
