// Unrolled loops over elements, in blocks of a constant length, which compilers turn into vector instructions at -O2 as
// well.
#pragma once
#include <cstdint>
#include <cstring>
#include <type_traits>

#include <tenon/core/simd/simd_half.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::kernel {

inline constexpr int block_length = 16;

/// Calls f(0) .. f(count - 1), which must be independent of each other.
template <class F>
inline void for_each_unrolled(long count, F f) {
  const long whole = count - count % block_length;
  for (long i = 0; i < whole; i += block_length)
    for (int l = 0; l < block_length; ++l) f(i + l);
  for (long i = whole; i < count; ++i) f(i);
}

namespace detail {
// Blocks of 16-bit floats are converted by instructions that compilers do not find.
template <class T>
[[gnu::always_inline]] inline void load_block(const T* from, float (&values)[block_length]) {
  constexpr int width = simd_width<float> < block_length ? simd_width<float> : block_length;
#pragma GCC unroll 4
  for (int l = 0; l < block_length; l += width) load_float<width>(from + l).store(values + l);
}
template <class V, class T>
[[gnu::always_inline]] inline void store_block(const V (&values)[block_length], T* to) {
  if constexpr (is_half<T> && std::is_same_v<V, float>) {
    constexpr int width = simd_width<float> < block_length ? simd_width<float> : block_length;
#pragma GCC unroll 4
    for (int l = 0; l < block_length; l += width) store_float(Simd<float, width>::load(values + l), to + l);
  } else if constexpr (std::is_same_v<V, T> && std::is_floating_point_v<T>) {
    constexpr int width = simd_width<T> < block_length ? simd_width<T> : block_length;
    // in vectors: compilers would copy the array through the stack, 16 bytes at a time
#pragma GCC unroll 8
    for (int l = 0; l < block_length; l += width) Simd<T, width>::load(values + l).store(to + l);
  } else {
    for (int l = 0; l < block_length; ++l) to[l] = static_cast<T>(values[l]);
  }
}
// Numbers as wide as floats: of a loop with bools g++ makes no vectors, or short ones.
[[gnu::always_inline]] inline void load_block(const bool* from, std::uint32_t (&values)[block_length]) {
  constexpr int width = simd_width<float> < block_length ? simd_width<float> : block_length;
  using Bytes [[gnu::vector_size(width)]] = unsigned char;
  using Numbers [[gnu::vector_size(width * 4)]] = std::uint32_t;
#pragma GCC unroll 4
  for (int l = 0; l < block_length; l += width) {
    Bytes bytes;
    std::memcpy(&bytes, from + l, sizeof bytes);
    const Numbers numbers = __builtin_convertvector(bytes, Numbers);
    std::memcpy(values + l, &numbers, sizeof numbers);
  }
}
/// Whether a block of these is converted before it is used.
template <class T>
inline constexpr bool is_converted = is_half<T> || std::is_same_v<T, bool>;
// An operand of map_unrolled: single elements, or those of a block. 16-bit floats come as float32.
template <bool moves, class T>
struct Operand {
  const T* from;
  using Value = std::conditional_t<is_half<T>, float, T>;
  using Kept = std::conditional_t<std::is_same_v<T, bool>, std::uint32_t, Value>;
  Kept block[is_converted<T> && moves ? block_length : 1];
  [[gnu::always_inline]] void load(long i) {
    if constexpr (is_converted<T> && moves) load_block(from + i, block);
  }
  [[gnu::always_inline]] Value in_block([[maybe_unused]] long i, [[maybe_unused]] int l) const {
    if constexpr (is_converted<T>) return static_cast<Value>(block[moves ? l : 0]);
    else if constexpr (!moves) return block[0];
    else return from[i + l];
  }
  [[gnu::always_inline]] Value one(long i) const {
    return moves ? static_cast<Value>(from[i]) : static_cast<Value>(block[0]);
  }
};
}  // namespace detail

/// y[i] = f(i) for i = 0 .. count - 1. A block is complete before it is stored: f may read y[i], and the compiler need
/// not ask whether y overlaps what else f reads.
template <class T, class F>
inline void store_unrolled(T* y, long count, F f) {
  const long whole = count - count % block_length;
  for (long i = 0; i < whole; i += block_length) {
    decltype(f(i)) value[block_length];
    for (int l = 0; l < block_length; ++l) value[l] = f(i + l);
    detail::store_block(value, y + i);
  }
  for (long i = whole; i < count; ++i) y[i] = static_cast<T>(f(i));
}

/// out[i] = f(in[i]...) for i = 0 .. count - 1; operands whose Moves is false stay at their first element. In vectors
/// also at -O2, and out may be one of the operands. f gets 16-bit floats as float32, and may return them so.
template <bool... Moves, class Result, class F, class... T>
[[gnu::always_inline]] inline void map_unrolled(Result* out, long count, F f, const T*... in) {
  constexpr bool numbers_of_bools = ((std::is_same_v<T, bool> && Moves && sizeof(Result) >= 4) || ...);
  if constexpr (numbers_of_bools || (is_half<T> || ...) || is_half<Result>) {
    if (count <= 0) return;
    [&](detail::Operand<Moves, T>... operand) __attribute__((always_inline)) {
      const long whole = count - count % block_length;
      for (long i = 0; i < whole; i += block_length) {
        (operand.load(i), ...);
        decltype(f(operand.one(0)...)) value[block_length];
        for (int l = 0; l < block_length; ++l) value[l] = f(operand.in_block(i, l)...);
        detail::store_block(value, out + i);
      }
      for (long i = whole; i < count; ++i) out[i] = static_cast<Result>(f(operand.one(i)...));
    }(detail::Operand<Moves, T>{in, {static_cast<typename detail::Operand<Moves, T>::Kept>(in[0])}}...);
  } else {
    store_unrolled(out, count,
                   [&](long i) __attribute__((always_inline)) { return static_cast<Result>(f(in[Moves ? i : 0]...)); });
  }
}

}  // namespace tenon::kernel
TENON_EXACT_END
