// The finite check: looks for infinite numbers and NaN.
#pragma once
#include <type_traits>

#include <tenon/core/dtype.hpp>
#if TENON_DEFINES || defined(TENON_EMBEDDED)
#include <bit>
#include <cstdint>

#include <tenon/core/simd/simd.hpp>
#endif

namespace tenon::inline TENON_ABI::kernel {
namespace detail {
template <class T>
[[gnu::noinline]] bool products_with_zero_vanish(const T* x, long count);
template <class T>
[[gnu::noinline]] bool exponents_are_finite(const T* x, long count);
}  // namespace detail

/// True if all numbers are finite, as integers are.
template <class T>
bool all_finite([[maybe_unused]] const T* x, [[maybe_unused]] long count) {
  if constexpr (std::is_integral_v<T>) return true;
  else if constexpr (std::is_floating_point_v<T>) return detail::products_with_zero_vanish(x, count);
  else return detail::exponents_are_finite(x, count);
}

/// False if no number is NaN: adds up `count` numbers, a multiple of the vectors. True if one is, also where the sum
/// is not defined: of infinite numbers of either sign, and of numbers near to the largest one.
template <class T>
[[gnu::noinline]] bool may_hold_nan(const T* x, long count);

#if TENON_DEFINES || defined(TENON_EMBEDDED)
namespace detail {
template <class T, int Width>
inline bool any_nan(Simd<T, Width> x) {
  bool any = false;
  for (int lane = 0; lane < Width; ++lane) any |= x[lane] != x[lane];
  return any;
}
// 0 times a number is 0; times what is not finite it is NaN, which stays in a sum.
template <class T>
bool products_with_zero_vanish(const T* x, long count) {
  using V = Simd<T>;
  constexpr int vectors = 8;  // chains that hide each other's latency
  V sum[vectors];
#pragma GCC unroll 8
  for (int v = 0; v < vectors; ++v) sum[v] = V(T(0));
  const V zero(T(0));
  long i = 0;
  for (; i + vectors * V::width <= count; i += vectors * V::width)
#pragma GCC unroll 8
    for (int v = 0; v < vectors; ++v) sum[v] = fmadd(V::load(x + i + v * V::width), zero, sum[v]);
  for (; i + V::width <= count; i += V::width) sum[0] = fmadd(V::load(x + i), zero, sum[0]);
  T rest = 0;
  for (; i < count; ++i) rest = fmadd(x[i], T(0), rest);
  return !any_nan(((sum[0] + sum[1]) + (sum[2] + sum[3])) + ((sum[4] + sum[5]) + (sum[6] + sum[7])) + V(rest));
}
// The exponent of a finite number has a bit that is 0, so that one added to the exponent does not reach the sign.
template <class T>
bool exponents_are_finite(const T* x, long count) {
  using Bits = std::uint16_t;
  constexpr int fraction = std::is_same_v<T, float16> ? 10 : 7, sign = 15;
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
}  // namespace detail

template <class T>
bool may_hold_nan(const T* x, long count) {
  using V = Simd<T>;
  constexpr int vectors = 8;
  V sum[vectors];
#pragma GCC unroll 8
  for (int v = 0; v < vectors; ++v) sum[v] = V(T(0));
  long i = 0;
  for (; i + vectors * V::width <= count; i += vectors * V::width)
#pragma GCC unroll 8
    for (int v = 0; v < vectors; ++v) sum[v] = sum[v] + V::load(x + i + v * V::width);
  for (; i < count; i += V::width) sum[0] = sum[0] + V::load(x + i);
  return detail::any_nan(((sum[0] + sum[1]) + (sum[2] + sum[3])) + ((sum[4] + sum[5]) + (sum[6] + sum[7])));
}
#endif  // TENON_DEFINES

}  // namespace tenon::kernel
