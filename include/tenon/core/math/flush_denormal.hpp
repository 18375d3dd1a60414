// What an operator that hands one of its operands on makes of a denormal number.
#pragma once
#include <type_traits>

#include <tenon/core/config.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::math {

/// x, which is 0 with its sign if it is denormal, for compilers that would decide that anew for each loop: of
/// `x < 0 ? 0 : x` clang makes a maximum in one place, which flushes what it returns, and a choice in another, which
/// does not. Modes would differ. g++ does so from 14 on, of a negation before the choice.
template <class V>
[[gnu::always_inline]] TENON_DEVICE constexpr V flush_denormal(V x) {
#if defined(__clang__) || __GNUC__ >= 14
  if constexpr (std::is_same_v<V, float>) return __builtin_copysignf(x + 0.0f, x);
  else if constexpr (std::is_same_v<V, double>) return __builtin_copysign(x + 0.0, x);
  else return x;
#else
  return x;
#endif
}

}  // namespace tenon::math
TENON_EXACT_END
