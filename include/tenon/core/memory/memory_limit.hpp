// How much memory tensors, parameters, and scratch memory may take together: max_device_memory of the context.
#pragma once
#include <atomic>
#include <cstddef>
#include <limits>
#include <new>

#include <tenon/core/error.hpp>

namespace tenon::inline TENON_ABI::detail {

inline constexpr long no_memory_limit = std::numeric_limits<long>::max();

/// In bytes.
std::atomic<long>& memory_limit();
/// What is in use, blocks that threads keep for their next tensors among it.
std::atomic<long>& memory_in_use();

/// Counts a block that is about to be made; throws std::bad_alloc if the limit has no room for it.
void count_memory(std::size_t bytes);
/// The same for one that is gone.
inline void uncount_memory(std::size_t bytes) { memory_in_use().fetch_sub(long(bytes), std::memory_order_relaxed); }

/// Throws OutOfMemory for `bytes` that could not be had: it names the limit if that is the reason.
[[noreturn, gnu::cold]] void refuse_memory(double bytes, std::string_view what);

#if TENON_DEFINES
[[gnu::noinline]] TENON_INLINE std::atomic<long>& memory_limit() {
  static constinit std::atomic<long> limit{no_memory_limit};
  return limit;
}
[[gnu::noinline]] TENON_INLINE std::atomic<long>& memory_in_use() {
  static constinit std::atomic<long> bytes{0};
  return bytes;
}
[[gnu::noinline]] TENON_INLINE void count_memory(std::size_t bytes) {
  if (memory_in_use().fetch_add(long(bytes), std::memory_order_relaxed) + long(bytes) <= memory_limit()) return;
  uncount_memory(bytes);
  throw std::bad_alloc();
}
[[gnu::noinline]] TENON_INLINE void refuse_memory(double bytes, std::string_view what) {
  const long limit = memory_limit(), used = memory_in_use();
  constexpr double most_waste = 1.25;  // blocks are up to a quarter larger than what is asked for
  if (double(used) + bytes * most_waste <= double(limit)) throw_out_of_memory(bytes, what);
  throw_error<OutOfMemory>("Out of memory: ", memory_text(bytes), " were asked for ", what, ", ",
                           memory_text(double(used)), " are in use, and max_device_memory allows ",
                           memory_text(double(limit)),
                           ". Take a smaller batch or network, free memory first, or raise max_device_memory.");
}
#endif  // TENON_DEFINES

}  // namespace tenon::detail
