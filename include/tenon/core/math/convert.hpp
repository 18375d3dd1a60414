// Conversion of one element to another type: defined for every value, rounded once.
#pragma once
#include <bit>
#include <cstdint>
#include <limits>

#include <tenon/core/dtype.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::math {

// Rounding twice, to float and then to 16 bits, can differ from rounding once. Rounding to odd in between cannot: the
// last bit remembers that something was cut off.
TENON_DEVICE constexpr float rounded_to_odd(double x) {
  constexpr double largest = std::numeric_limits<float>::max();
  if (x > largest || x < -largest)
    return x > largest ? std::numeric_limits<float>::infinity() : -std::numeric_limits<float>::infinity();
  const float nearest = static_cast<float>(x);
  if (static_cast<double>(nearest) == x || x != x) return nearest;
  std::uint32_t bits = std::bit_cast<std::uint32_t>(nearest);
  const bool away = x < 0 ? static_cast<double>(nearest) < x : static_cast<double>(nearest) > x;
  if (away) --bits;
  return std::bit_cast<float>(bits | 1u);
}
// The same from 64-bit integers: exact up to 2^53, rounded to odd above.
template <class I>
TENON_DEVICE constexpr double odd_double(I x) {
  if constexpr (sizeof(I) == 8) {
    constexpr I exact = I{1} << 53, low = 0x7ff;
    if (x >= exact || (std::is_signed_v<I> && x <= static_cast<I>(I{0} - exact)))
      x = static_cast<I>((x & ~low) | (x & low ? I{0x800} : I{0}));
  }
  return static_cast<double>(x);
}

/// x as To.
///
/// to floating-point   nearest, ties to even; values too large become infinite
/// to integers         from floating-point: towards zero, values out of range become the nearest limit, NaN becomes 0;
///                     from integers: modulo 2^bits
/// to bool             x != 0
template <class To, class From>
TENON_DEVICE constexpr To convert(From x) {
  if constexpr (std::is_same_v<To, From>) return x;
  else if constexpr (is_half<From>) return convert<To>(static_cast<float>(x));
  else if constexpr (std::is_same_v<To, bool>) return x != From(0);
  else if constexpr (is_half<To>) {
    if constexpr (std::is_same_v<From, double>) return To(rounded_to_odd(x));
    else if constexpr (std::is_integral_v<From>) return To(rounded_to_odd(odd_double(x)));
    else return To(x);
  } else if constexpr (std::is_integral_v<To> && std::is_floating_point_v<From>) {
    constexpr To lowest = std::numeric_limits<To>::lowest(), highest = std::numeric_limits<To>::max();
    constexpr From above = static_cast<From>(highest / 2 + 1) * 2;  // exact, unlike From(highest)
    return x != x ? To(0) : x >= above ? highest : x <= static_cast<From>(lowest) ? lowest : static_cast<To>(x);
  } else return static_cast<To>(x);
}

}  // namespace tenon::math
TENON_EXACT_END
