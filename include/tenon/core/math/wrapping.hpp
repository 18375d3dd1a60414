// Arithmetic that wraps around on integers, where C++ leaves overflow undefined; plain arithmetic on floating-point.
#pragma once
#include <cstdint>
#include <type_traits>

#include <tenon/core/config.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::math {

/// The unsigned type in which V is computed modulo 2^k; not below 32 bits, since smaller types are promoted to int.
template <class V>
using Modular = std::conditional_t<sizeof(V) == 8, std::uint64_t, std::uint32_t>;

template <class V>
TENON_DEVICE constexpr V wrapping_add(V a, V b) {
  if constexpr (std::is_integral_v<V>) return static_cast<V>(static_cast<Modular<V>>(a) + static_cast<Modular<V>>(b));
  else return a + b;
}
template <class V>
TENON_DEVICE constexpr V wrapping_subtract(V a, V b) {
  if constexpr (std::is_integral_v<V>) return static_cast<V>(static_cast<Modular<V>>(a) - static_cast<Modular<V>>(b));
  else return a - b;
}
template <class V>
TENON_DEVICE constexpr V wrapping_multiply(V a, V b) {
  if constexpr (std::is_integral_v<V>) return static_cast<V>(static_cast<Modular<V>>(a) * static_cast<Modular<V>>(b));
  else return a * b;
}
template <class V>
TENON_DEVICE constexpr V wrapping_negate(V a) {
  if constexpr (std::is_integral_v<V>) return static_cast<V>(Modular<V>{0} - static_cast<Modular<V>>(a));
  else return -a;
}

/// a to the power of b, modulo 2^k. A negative b gives what is left of the fraction: 0 unless a is 1 or -1.
template <class V>
TENON_DEVICE constexpr V wrapping_power(V a, V b) {
  if (b < V(0)) {
    const V sign = b % V(2) != V(0) ? a : wrapping_multiply(a, a);
    return wrapping_multiply(a, a) == V(1) && (a == V(1) || wrapping_negate(a) == V(1)) ? sign : V(0);
  }
  V power = V(1);
  for (; b > V(0); b = static_cast<V>(b / V(2)), a = wrapping_multiply(a, a))
    if (b % V(2) != V(0)) power = wrapping_multiply(power, a);
  return power;
}

}  // namespace tenon::math
TENON_EXACT_END
