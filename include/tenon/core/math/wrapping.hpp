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

}  // namespace tenon::math
TENON_EXACT_END
