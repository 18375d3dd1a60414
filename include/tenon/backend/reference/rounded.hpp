// A number as an element of a dtype, rounded once.
#pragma once
#include <algorithm>
#include <cmath>
#include <limits>

#include <tenon/core/dtype.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::kernel::reference {

/// The T nearest to x, of two that are as near the one with an even last digit; infinite where x is too large, and 0
/// where it is too small for a normal number of the type in which T is computed (core/float/denormals.hpp). A long
/// double holds every double and, where it has 64 digits, every integer.
template <class T>
T rounded(long double x) {
  if (std::fabs(x) < std::numeric_limits<Compute<T>>::min()) x = std::copysign(0.0L, x);
  if constexpr (is_half<T>)
    if (x - x == 0) {  // neither infinite nor NaN
      constexpr int digits = std::is_same_v<T, bfloat16> ? 8 : 11;
      int exponent = 0;  // x is below 2^exponent
      std::frexp(x, &exponent);
      if (std::is_same_v<T, float16>) exponent = std::max(exponent, -13);  // denormals have the last digit 2^-24
      const long double last_digit = std::ldexp(1.0L, exponent - digits);
      x = std::nearbyint(x / last_digit) * last_digit;  // of which float has all digits: the conversion cuts none off
    }
  return T(static_cast<Compute<T>>(x));
}

}  // namespace tenon::kernel::reference
TENON_EXACT_END
