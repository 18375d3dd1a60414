// SumBytes: a sum of float32 and float64, added a block at a time.
#pragma once
#include <cstddef>

#include <tenon/core/function_ref.hpp>
#include <tenon/core/math/min_max.hpp>
#include <tenon/dist/sum_tree.hpp>
#if TENON_DEFINES
#include <tenon/core/float/denormals.hpp>
#include <tenon/core/thread/parallel.hpp>
#endif

namespace tenon::inline TENON_ABI::dist::detail {

/// How the bytes of a sum are numbers: floats up to a border, which is a multiple of 8 bytes, then doubles.
struct SumBytes {
  long floats = 0, all = 0;
};

/// Of a block, which the fastest cache keeps.
inline constexpr long block_bytes = 2048;
/// Calls f(begin, size, wide) for the blocks of a part of a sum, on several threads if that pays. A block is all
/// float32, or (`wide`) all float64.
void each_block(const SumBytes& bytes, ShardRange part, FunctionRef<long, long, bool> f);
/// to += from, in such a block, and in a part of a sum.
void add_block(std::byte* to, const std::byte* from, long bytes, bool wide);
void add_sums(std::byte* to, const std::byte* from, const SumBytes& bytes, ShardRange part);

#if TENON_DEFINES
TENON_EXACT_BEGIN
template <class S>
void add_as(std::byte* to, const std::byte* from, long bytes) {
  S* const sum = reinterpret_cast<S*>(to);
  const S* const other = reinterpret_cast<const S*>(from);
  for (long i = 0; i < bytes / long(sizeof(S)); ++i) sum[i] = sum[i] + other[i];
}
TENON_EXACT_END
[[gnu::noinline]] TENON_INLINE void add_block(std::byte* to, const std::byte* from, long bytes, bool wide) {
  if (wide) add_as<double>(to, from, bytes);
  else add_as<float>(to, from, bytes);
}
[[gnu::cold, gnu::noinline]] TENON_INLINE void each_block(const SumBytes& bytes, ShardRange part,
                                                          FunctionRef<long, long, bool> f) {
  for (const bool wide : {false, true}) {
    const long begin = wide ? math::max(part.begin, bytes.floats) : part.begin,
               end = wide ? part.end : math::min(part.end, bytes.floats);
    if (begin >= end) continue;
    parallel_for((end - begin + block_bytes - 1) / block_bytes, 64, [&](long block, long stop) {
      const FlushDenormals flush;
      for (; block < stop; ++block) {
        const long at = begin + block * block_bytes;
        f(at, math::min(end - at, block_bytes), wide);
      }
    });
  }
}
[[gnu::cold, gnu::noinline]] TENON_INLINE void add_sums(std::byte* to, const std::byte* from, const SumBytes& bytes,
                                                        ShardRange part) {
  each_block(bytes, part, [&](long at, long size, bool wide) { add_block(to + at, from + at, size, wide); });
}
#endif  // TENON_DEFINES

}  // namespace tenon::dist::detail
