// Loops over elements in blocks of a constant length, which compilers turn into vector instructions at -O2 as well.
#pragma once
#include <cstring>
#include <tuple>
#include <utility>

#include <tenon/core/config.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::kernel {

inline constexpr int block_length = 16;

/// Calls f(0) .. f(count - 1), which must be independent of each other.
template <class F>
inline void in_blocks(long count, F f) {
  long i = 0;
  for (; i + block_length <= count; i += block_length)
    for (int l = 0; l < block_length; ++l) f(i + l);
  for (; i < count; ++i) f(i);
}

/// y[i] = f(i) for i = 0 .. count - 1. A block is complete before it is stored: f may read y[i], and the compiler need not
/// ask whether y overlaps what else f reads.
template <class T, class F>
inline void store_in_blocks(T* y, long count, F f) {
  long i = 0;
  for (; i + block_length <= count; i += block_length) {
    decltype(f(i)) value[block_length];
    for (int l = 0; l < block_length; ++l) value[l] = f(i + l);
    for (int l = 0; l < block_length; ++l) y[i + l] = static_cast<T>(value[l]);
  }
  for (; i < count; ++i) y[i] = static_cast<T>(f(i));
}

namespace detail {
// Operand k of a block: the elements where they are, or what is left of them, the first one repeated so that no step meets a value
// that is not there (an integer division would trap).
template <class T>
[[gnu::always_inline]] inline const T* block_operand(const T* in, long left, bool moves, T* tail) {
  if (left >= block_length || !moves) return in;
  for (int l = 0; l < block_length; ++l) tail[l] = in[l < left ? l : 0];
  return tail;
}
template <class T>
struct BlockTail {
  alignas(64) T element[block_length];
};
template <bool... Moves, class Result, class F, class... T, std::size_t... K>
[[gnu::always_inline]] inline void map_in_blocks(Result* out, long count, F f, std::index_sequence<K...>, const T*... in) {
  for (long i = 0; i < count; i += block_length) {
    const long left = count - i;
    std::tuple<BlockTail<T>...> tail;
    const std::tuple<const T*...> at{block_operand(in + (Moves ? i : 0), left, Moves, std::get<K>(tail).element)...};
    alignas(64) Result value[block_length];
    for (int l = 0; l < block_length; ++l) value[l] = static_cast<Result>(f(std::get<K>(at)[Moves ? l : 0]...));
    if (left >= block_length) std::memcpy(out + i, value, sizeof value);
    else
      for (long l = 0; l < left; ++l) out[i + l] = value[l];
  }
}
}  // namespace detail

/// out[i] = f(in[i]...) for i = 0 .. count - 1; operands whose Moves is false stay at their first element. f stands in the program
/// once, in vectors also at -O2, and out may be one of the operands.
template <bool... Moves, class Result, class F, class... T>
[[gnu::always_inline]] inline void map_in_blocks(Result* out, long count, F f, const T*... in) {
  detail::map_in_blocks<Moves...>(out, count, f, std::index_sequence_for<T...>{}, in...);
}

}  // namespace tenon::kernel
TENON_EXACT_END
