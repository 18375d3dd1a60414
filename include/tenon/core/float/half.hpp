// The two 16-bit floating-point types: storage formats that compute in float and round to nearest even.
#pragma once
#include <bit>
#include <cstdint>

#include <tenon/core/config.hpp>

namespace tenon::inline TENON_ABI {

/// IEEE 754 binary16: 1 sign, 5 exponent, 10 fraction bits.
struct float16 {
  std::uint16_t bits = 0;

  constexpr float16() = default;
  TENON_DEVICE constexpr float16(float value) : bits(from_float(value)) {}
  TENON_DEVICE constexpr operator float() const { return to_float(bits); }

  /// float(float16(value)) in float's own format, which takes fewer steps.
  TENON_DEVICE static constexpr float rounded(float value) { return to_float(from_float(value)); }

 private:
  // Without branches, so that loops of conversions become vectors.
  TENON_DEVICE static constexpr std::uint16_t from_float(float value) {
    // 2^-14, 65536
    constexpr std::uint32_t least_normal = 0x38800000u, too_large = 0x47800000u, infinity = 0x7f800000u;
    const auto f = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t sign = f >> 16 & 0x8000u, magnitude = f & 0x7fffffffu;
    const std::uint32_t normal = ((magnitude + 0xfffu + (magnitude >> 13 & 1u)) >> 13) - (112u << 10);
    // The last place of 0.5 is the smallest subnormal: the addition rounds to a multiple of it.
    const float small = std::bit_cast<float>(magnitude < least_normal ? magnitude : 0u) + 0.5f;
    const std::uint32_t subnormal = std::bit_cast<std::uint32_t>(small) - std::bit_cast<std::uint32_t>(0.5f);
    // NaN stays NaN
    const std::uint32_t finite = magnitude < least_normal ? subnormal : normal,
                        other = magnitude > infinity ? 0x7e00u : 0x7c00u;
    return static_cast<std::uint16_t>(sign | (magnitude >= too_large ? other : finite));
  }
  TENON_DEVICE static constexpr float to_float(std::uint16_t h) {
    const std::uint32_t sign = (h & 0x8000u) << 16, exponent = h >> 10 & 31u, bits = (h & 0x7fffu) << 13;
    // Subnormal: the fraction moves below the leading bit of 2^-14, which is then taken off. Only integers are chosen:
    // a choice of floats would be a branch.
    const std::uint32_t bias = exponent == 0 ? 113u << 23 : 112u << 23, lead = exponent == 0 ? 113u << 23 : 0u;
    const float finite = std::bit_cast<float>(bits + bias) - std::bit_cast<float>(lead);
    // every NaN is quiet
    const std::uint32_t infinite = exponent == 31 ? 112u << 23 : 0u, quiet = bits > 0x0f800000u ? 0x400000u : 0u;
    return std::bit_cast<float>(sign | quiet | (std::bit_cast<std::uint32_t>(finite) + infinite));
  }
};

/// bfloat16: the upper half of a float32.
struct bfloat16 {
  std::uint16_t bits = 0;

  constexpr bfloat16() = default;
  TENON_DEVICE constexpr bfloat16(float value) : bits(from_float(value)) {}
  TENON_DEVICE constexpr operator float() const { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); }

  /// float(bfloat16(value)) in float's own format, which takes fewer steps.
  TENON_DEVICE static constexpr float rounded(float value) {
    const auto f = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t nearest = f + 0x7fffu + (f >> 16 & 1u), nan = f | 0x400000u;
    return std::bit_cast<float>(((f & 0x7fffffffu) > 0x7f800000u ? nan : nearest) & 0xffff0000u);
  }

 private:
  TENON_DEVICE static constexpr std::uint16_t from_float(float value) {
    const auto f = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t nearest = (f + 0x7fffu + (f >> 16 & 1u)) >> 16, nan = f >> 16 | 0x40u;
    return static_cast<std::uint16_t>((f & 0x7fffffffu) > 0x7f800000u ? nan : nearest);
  }
};

template <class T>
inline constexpr bool is_half = false;
template <>
inline constexpr bool is_half<float16> = true;
template <>
inline constexpr bool is_half<bfloat16> = true;

}  // namespace tenon
