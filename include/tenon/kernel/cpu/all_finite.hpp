// Looks for infinite numbers and NaN.
#pragma once
#include <bit>
#include <cstdint>
#include <type_traits>

#include <tenon/core/dtype.hpp>
#include <tenon/core/simd.hpp>

namespace tenon::inline TENON_ABI::kernel {

/// True if all numbers are finite: then their exponents have a bit that is 0, so that one added to the exponent does
/// not reach the sign.
template <class T>
[[gnu::noinline]] bool all_finite(const T* x, long count) {
  using Bits = std::conditional_t<sizeof(T) == 8, std::uint64_t,
                                  std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint16_t>>;
  constexpr int fraction = sizeof(T) == 8               ? 52
                           : sizeof(T) == 4             ? 23
                           : std::is_same_v<T, float16> ? 10
                                                        : 7,
                sign = int(sizeof(T)) * 8 - 1;
  constexpr Bits one = Bits(Bits(1) << fraction), exponent = Bits((Bits(1) << sign) - one);
  using V = Simd<Bits>;
  constexpr int vectors = 4;  // chains that hide each other's latency
  const auto look = [=](auto bits) __attribute__((always_inline)) { return (bits & exponent) + one; };
  V reached[vectors];
#pragma GCC unroll 4
  for (int v = 0; v < vectors; ++v) reached[v] = V(Bits(0));
  const auto* from = reinterpret_cast<const Bits*>(x);
  long i = 0;
  for (; i + vectors * V::width <= count; i += vectors * V::width)
#pragma GCC unroll 4
    for (int v = 0; v < vectors; ++v) reached[v].lanes |= look(V::load(from + i + v * V::width).lanes);
  for (; i + V::width <= count; i += V::width) reached[0].lanes |= look(V::load(from + i).lanes);
  reached[0].lanes |= reached[1].lanes | reached[2].lanes | reached[3].lanes;
  Bits all = 0;
  for (; i < count; ++i) all = Bits(all | look(std::bit_cast<Bits>(x[i])));
  for (int lane = 0; lane < V::width; ++lane) all = Bits(all | reached[0].lanes[lane]);
  return !(all >> sign & 1);
}

}  // namespace tenon::kernel
