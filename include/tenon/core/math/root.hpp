// A square root for loops of vectors: that of the C library sets errno, so g++ makes no vectors of a loop around it.
#pragma once
#include <tenon/core/math/elementary.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::math {

/// √x of a finite x, within 1 ulp (1.5 without a fused multiply-add); NaN below 0. The steps of Newton from an estimate
/// by the bits of x, the first with the constants of Kadlec, the last with the remainder.
[[gnu::always_inline]] TENON_DEVICE inline float root(float x) {
  float inverse = std::bit_cast<float>(0x5f1ffff9u - (std::bit_cast<std::uint32_t>(x) >> 1));
  inverse = inverse * 0.703952253f * fmadd(-x * inverse, inverse, 2.38924456f);
  inverse = inverse * fmadd(x * -0.5f * inverse, inverse, 1.5f);
  const float near = x * inverse, rest = fmadd(-near, near, x);
  return detail::choose(x < 0, std::numeric_limits<float>::quiet_NaN(), fmadd(rest * 0.5f, inverse, near));
}

}  // namespace tenon::math
TENON_EXACT_END
