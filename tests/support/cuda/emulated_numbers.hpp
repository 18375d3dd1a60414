// The numbers of tensor cores: factors as they see them.
#pragma once
#include <bit>
#include <cstdint>

#include <tenon/core/float/half.hpp>

namespace emulator {

/// A float rounded to the 10 bits after the point that TF32 has, to the nearest, ties to even.
inline float rounded_to_tf32(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  if ((bits & 0x7f800000u) == 0x7f800000u) return x;
  return std::bit_cast<float>((bits + 0x0fffu + (bits >> 13 & 1)) & ~0x1fffu);
}

enum class Kind { tf32, float16, bfloat16 };
inline long size_of(Kind kind) { return kind == Kind::tf32 ? 4 : 2; }
inline float factor(const void* from, long i, Kind kind) {
  if (kind == Kind::tf32) return rounded_to_tf32(static_cast<const float*>(from)[i]);
  if (kind == Kind::float16) return float(static_cast<const tenon::float16*>(from)[i]);
  return float(static_cast<const tenon::bfloat16*>(from)[i]);
}
inline float element(const void* from, long i, Kind kind) {
  return kind == Kind::tf32 ? static_cast<const float*>(from)[i] : factor(from, i, kind);
}
inline void store(void* to, long i, Kind kind, float value) {
  if (kind == Kind::tf32) static_cast<float*>(to)[i] = value;
  else if (kind == Kind::float16) static_cast<tenon::float16*>(to)[i] = tenon::float16(value);
  else static_cast<tenon::bfloat16*>(to)[i] = tenon::bfloat16(value);
}

}  // namespace emulator
