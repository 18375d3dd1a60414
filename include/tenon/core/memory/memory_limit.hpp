// How much memory tensors, parameters, and scratch memory may take together: max_device_memory of the context.
#pragma once
#include <cstddef>
#include <limits>
#include <new>

#include <tenon/core/error.hpp>
#include <tenon/core/math/min_max.hpp>
#include <tenon/core/memory/machine_memory.hpp>
#include <tenon/core/thread/atomic.hpp>
#if TENON_DEFINES
#endif

namespace tenon::inline TENON_ABI::detail {

inline constexpr long no_memory_limit = std::numeric_limits<long>::max();

/// In bytes.
Atomic<long>& memory_limit();
/// What is in use, blocks that threads keep for their next tensors among it.
Atomic<long>& memory_in_use();

/// Counts a block that is about to be made; throws std::bad_alloc if the limit, or what the machine has left, has no
/// room for it: a system may promise memory that it does not have, and end the process that touches it. The machine is
/// asked for large blocks, and each time that much more is in use.
void count_memory(std::size_t bytes);
/// The same for one that is gone.
inline void uncount_memory(std::size_t bytes) { memory_in_use().fetch_sub(long(bytes), MemoryOrder::relaxed); }

/// Whether count_memory() would take this many. The machine is asked about as rarely.
bool memory_fits(long bytes);
/// Room for one block more, in bytes.
[[gnu::cold]] double free_memory();

/// Throws OutOfMemory for `bytes` that could not be had: how many were asked for, how many are free, why not more, and
/// how many the peak would be. `details`: sentences about what else is known, "" or with a blank in front.
[[noreturn, gnu::cold]] void refuse_memory(double bytes, std::string_view what, std::string_view details = {});
/// The same error again, with more details.
[[noreturn, gnu::cold]] void refuse_memory(const OutOfMemory& error, std::string_view details);

#if TENON_DEFINES
[[gnu::noinline]] TENON_INLINE Atomic<long>& memory_limit() {
  static constinit Atomic<long> limit{no_memory_limit};
  return limit;
}
[[gnu::noinline]] TENON_INLINE Atomic<long>& memory_in_use() {
  static constinit Atomic<long> bytes{0};
  return bytes;
}
/// Less than this is in use by a program that never asks the machine.
inline constexpr long little_memory = 64 << 20;
/// What may be in use before the machine is asked again.
TENON_INLINE Atomic<long>& memory_known_to_be_there() {
  static constinit Atomic<long> bytes{little_memory};
  return bytes;
}
/// Asks the machine whether there are this many bytes, after which `total` would be in use.
[[gnu::cold, gnu::noinline]] TENON_INLINE bool machine_has(long bytes, long total) {
  const double left = machine_memory(double(total - bytes)).bytes - double(bytes);
  // An eighth of what is left then: the fewer there are, the more often it is asked.
  if (left >= 0) memory_known_to_be_there() = total + long(math::min(left / 8, 0x1p60));
  return left >= 0;
}
TENON_INLINE bool has_memory(long bytes, long total) {
  return total <= memory_limit() &&
         ((total <= memory_known_to_be_there() && bytes < little_memory) || machine_has(bytes, total));
}
[[gnu::noinline]] TENON_INLINE bool memory_fits(long bytes) {
  return has_memory(bytes, memory_in_use().load(MemoryOrder::relaxed) + bytes);
}
[[gnu::noinline]] TENON_INLINE void count_memory(std::size_t bytes) {
  if (has_memory(long(bytes), memory_in_use().fetch_add(long(bytes), MemoryOrder::relaxed) + long(bytes))) return;
  uncount_memory(bytes);
  throw std::bad_alloc();
}
[[gnu::noinline]] TENON_INLINE double free_memory() {
  const double used = double(memory_in_use());
  return math::max(0.0, math::min(double(memory_limit()) - used, machine_memory(used).bytes));
}
[[gnu::noinline]] TENON_INLINE void refuse_memory(double bytes, std::string_view what, std::string_view details) {
  const double limit = double(memory_limit()), used = double(memory_in_use());
  const MachineMemory machine = machine_memory(used);
  const bool limited = limit - used <= machine.bytes && limit < double(no_memory_limit);
  const double left = math::max(0.0, limited ? limit - used : machine.bytes);
  const bool known = left < 0x1p60;
  const char* const why = limited            ? "max_device_memory allows "
                          : bytes <= left    ? "the system did not give them"
                          : machine.of_group ? "all that its control group leaves to this process"
                                             : "all that this machine has";
  const std::string message = text("Out of memory: ", memory_text(bytes), " were asked for ", what, known ? ", " : "",
                                   known ? memory_text(left) : std::string(), known ? " are free (" : " (", why,
                                   limited ? memory_text(limit) : std::string(), ", ", memory_text(used),
                                   " are in use), and the peak would be ", memory_text(used + bytes), ".", details);
  throw OutOfMemory(text(message, " Take a smaller batch or network, ",
                         limited ? "free memory first, or raise max_device_memory." : "or free memory first."),
                    message.size());
}
[[gnu::noinline]] TENON_INLINE void refuse_memory(const OutOfMemory& error, std::string_view details) {
  const std::string_view message = error.what();
  const std::size_t at = math::min(error.details_end, message.size());
  throw OutOfMemory(text(message.substr(0, at), details, message.substr(at)), at + details.size());
}
#endif  // TENON_DEFINES

}  // namespace tenon::detail
