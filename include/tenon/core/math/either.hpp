// A choice between two numbers by their bits.
#pragma once
#include <bit>
#include <cstdint>
#include <type_traits>

#include <tenon/core/config.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::math {

/// condition ? a : b, without the branch that a compiler makes of it where one side is arithmetic that may raise an
/// exception of IEEE 754: a loop around the branch has no vectors.
template <class V>
[[gnu::always_inline]] TENON_DEVICE constexpr V either(bool condition, V a, V b) {
  if constexpr (std::is_same_v<V, float> || std::is_same_v<V, double>) {
    using Bits = std::conditional_t<sizeof(V) == 4, std::uint32_t, std::uint64_t>;
    const Bits mask = Bits{0} - static_cast<Bits>(condition);
    return std::bit_cast<V>((std::bit_cast<Bits>(a) & mask) | (std::bit_cast<Bits>(b) & ~mask));
  } else return condition ? a : b;
}

}  // namespace tenon::math
TENON_EXACT_END
