// Looks for infinite numbers and NaN.
#pragma once
#include <bit>
#include <cstdint>
#include <type_traits>

#include <tenon/core/dtype.hpp>

namespace tenon::inline TENON_ABI::kernel {

/// True if all numbers are finite: then their exponents have a bit that is 0, so that one added to the exponent does not reach the sign.
template <class T>
[[gnu::noinline]] bool all_finite(const T* x, long count) {
  using Bits = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint16_t>>;
  constexpr int fraction = sizeof(T) == 8 ? 52 : sizeof(T) == 4 ? 23 : std::is_same_v<T, float16> ? 10 : 7, sign = int(sizeof(T)) * 8 - 1;
  constexpr Bits one = Bits(Bits(1) << fraction), exponent = Bits((Bits(1) << sign) - one);
  constexpr long block = 64;  // a loop whose length the compiler knows becomes vectors
  Bits reached[block]{};
  const auto bits_of = [](const T& number) {
    if constexpr (is_half<T>) return number.bits;
    else return std::bit_cast<Bits>(number);
  };
  const auto look = [=](const T& number, Bits& bits) { bits |= Bits((bits_of(number) & exponent) + one); };
  const long whole = count - count % block;
  for (long i = 0; i < whole; i += block)
    for (long l = 0; l < block; ++l) look(x[i + l], reached[l]);
  for (long i = whole; i < count; ++i) look(x[i], reached[i - whole]);
  Bits all = 0;
  for (const Bits bits : reached) all = Bits(all | bits);
  return !(all >> sign & 1);
}

}  // namespace tenon::kernel
