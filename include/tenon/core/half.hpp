// The two 16-bit floating-point types: storage formats that compute in float and round to nearest even.
#pragma once
#include <bit>
#include <cstdint>
#include <type_traits>

#include <tenon/core/config.hpp>

namespace tenon::inline TENON_ABI {

/// IEEE 754 binary16: 1 sign, 5 exponent, 10 fraction bits.
struct float16 {
  std::uint16_t bits = 0;

  constexpr float16() = default;
  TENON_DEVICE constexpr float16(float value) : bits(from_float(value)) {}
  TENON_DEVICE constexpr operator float() const { return to_float(bits); }

 private:
  TENON_DEVICE static constexpr std::uint16_t from_float(float value) {
    const auto f = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t sign = f >> 16 & 0x8000u, magnitude = f & 0x7fffffffu;
    if (magnitude > 0x7f800000u) return static_cast<std::uint16_t>(sign | 0x7e00u);   // NaN stays NaN
    if (magnitude >= 0x47800000u) return static_cast<std::uint16_t>(sign | 0x7c00u);  // 65536 and more, infinity
    if (magnitude < 0x38800000u) {                                                    // below 2^-14: subnormal
      if (magnitude < 0x33000000u) return static_cast<std::uint16_t>(sign);
      const std::uint32_t fraction = (magnitude & 0x7fffffu) | 0x800000u, shift = 126u - (magnitude >> 23);
      return static_cast<std::uint16_t>(sign | round_shift(fraction, shift));
    }
    return static_cast<std::uint16_t>(sign | (round_shift(magnitude, 13) - (112u << 10)));
  }
  TENON_DEVICE static constexpr std::uint32_t round_shift(std::uint32_t value, std::uint32_t shift) {
    const std::uint32_t kept = value >> shift, rest = value & ((1u << shift) - 1), half = 1u << (shift - 1);
    return kept + (rest > half || (rest == half && (kept & 1u)) ? 1u : 0u);
  }
  TENON_DEVICE static constexpr float to_float(std::uint16_t h) {
    const std::uint32_t sign = (h & 0x8000u) << 16, exponent = h >> 10 & 31u, fraction = h & 0x3ffu;
    if (exponent == 31) return std::bit_cast<float>(sign | 0x7f800000u | fraction << 13 | (fraction ? 0x400000u : 0u));  // every NaN is quiet
    if (exponent != 0) return std::bit_cast<float>(sign | (exponent + 112u) << 23 | fraction << 13);
    const float tiny = static_cast<float>(fraction) * 0x1p-24f;
    return sign ? -tiny : tiny;
  }
};

/// bfloat16: the upper half of a float32.
struct bfloat16 {
  std::uint16_t bits = 0;

  constexpr bfloat16() = default;
  TENON_DEVICE constexpr bfloat16(float value) : bits(from_float(value)) {}
  TENON_DEVICE constexpr operator float() const { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); }

 private:
  TENON_DEVICE static constexpr std::uint16_t from_float(float value) {
    const auto f = std::bit_cast<std::uint32_t>(value);
    if ((f & 0x7fffffffu) > 0x7f800000u) return static_cast<std::uint16_t>(f >> 16 | 0x40u);
    return static_cast<std::uint16_t>((f + 0x7fffu + (f >> 16 & 1u)) >> 16);
  }
};

template <class T> inline constexpr bool is_half = std::is_same_v<T, float16> || std::is_same_v<T, bfloat16>;

}  // namespace tenon
