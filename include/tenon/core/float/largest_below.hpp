// The largest number below a bound: what a draw from [low, high) gives where rounding would make it high.
#pragma once
#include <bit>
#include <cstdint>

#include <tenon/core/float/half.hpp>

namespace tenon::inline TENON_ABI {

/// The largest float32 below `bound`. Denormal numbers count as 0, in the bound and as a result.
constexpr float next_below(float bound) {
  constexpr float least = 0x1p-126f;
  if (bound < least && bound > -least) return -least;
  const auto bits = std::bit_cast<std::uint32_t>(bound);
  const float below = std::bit_cast<float>(bound > 0 ? bits - 1 : bits + 1);
  return below < least && below > 0 ? 0 : below;
}

/// The largest number of a floating-point type T below `bound`; a float32 for float64, too.
template <class T>
constexpr T largest_below(float bound) {
  if constexpr (is_half<T>) {
    T nearest(bound);
    if (static_cast<float>(nearest) < bound) return nearest;
    if ((nearest.bits & 0x7fff) == 0) return T(std::is_same_v<T, float16> ? -0x1p-14f : -0x1p-126f);
    nearest.bits = static_cast<std::uint16_t>(nearest.bits & 0x8000 ? nearest.bits + 1 : nearest.bits - 1);
    return nearest;
  } else return T(next_below(bound));
}

}  // namespace tenon
