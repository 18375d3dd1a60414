// Loops over elements in blocks of a constant length, which compilers turn into vector instructions at -O2 as well.
#pragma once
#include <type_traits>

#include <tenon/core/config.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::kernel {

inline constexpr int block_length = 16;

/// Calls f(0) .. f(count - 1), which must be independent of each other.
template <class F>
inline void in_blocks(long count, F f) {
  const long whole = count - count % block_length;
  for (long i = 0; i < whole; i += block_length)
    for (int l = 0; l < block_length; ++l) f(i + l);
  for (long i = whole; i < count; ++i) f(i);
}

/// y[i] = f(i) for i = 0 .. count - 1. A block is complete before it is stored: f may read y[i], and the compiler need not
/// ask whether y overlaps what else f reads.
template <class T, class F>
inline void store_in_blocks(T* y, long count, F f) {
  const long whole = count - count % block_length;
  for (long i = 0; i < whole; i += block_length) {
    decltype(f(i)) value[block_length];
    for (int l = 0; l < block_length; ++l) value[l] = f(i + l);
    for (int l = 0; l < block_length; ++l) y[i + l] = static_cast<T>(value[l]);
  }
  for (long i = whole; i < count; ++i) y[i] = static_cast<T>(f(i));
}

/// Calls f(i, length) for neighbouring parts of begin .. end - 1: first parts of a constant length, which f has as `length()`,
/// then single elements.
template <class F>
inline void each_block(long begin, long end, F f) {
  const long whole = end - (end - begin) % block_length;
  for (long i = begin; i < whole; i += block_length) f(i, std::integral_constant<int, block_length>());
  for (long i = whole; i < end; ++i) f(i, std::integral_constant<int, 1>());
}

/// out[i] = f(in[i]...) for i = 0 .. count - 1; operands whose Moves is false stay at their first element. In vectors also at -O2, and out
/// may be one of the operands.
template <bool... Moves, class Result, class F, class... T>
[[gnu::always_inline]] inline void map_in_blocks(Result* out, long count, F f, const T*... in) {
  store_in_blocks(out, count, [&](long i) __attribute__((always_inline)) { return static_cast<Result>(f(in[Moves ? i : 0]...)); });
}

}  // namespace tenon::kernel
TENON_EXACT_END
