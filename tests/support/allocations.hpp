// Counts the allocations of a test program, in all threads. Included by one file of a program: it defines malloc.
#pragma once
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <new>

namespace support {
inline std::atomic<long> allocations{0};
inline std::atomic<bool> counting{false};

inline void count_allocation() {
  if (counting.load(std::memory_order_relaxed)) ++allocations;
}
}  // namespace support

// Every allocation of every thread, in the standard library too, ends in these. The sanitizers have hooks of their own
// there.
#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
extern "C" {
void* __libc_malloc(std::size_t bytes);
void* __libc_calloc(std::size_t count, std::size_t bytes);
void* __libc_realloc(void* p, std::size_t bytes);
void* __libc_memalign(std::size_t alignment, std::size_t bytes);

void* malloc(std::size_t bytes) noexcept { return support::count_allocation(), __libc_malloc(bytes); }
void* calloc(std::size_t number, std::size_t bytes) noexcept {
  return support::count_allocation(), __libc_calloc(number, bytes);
}
void* realloc(void* p, std::size_t bytes) noexcept { return support::count_allocation(), __libc_realloc(p, bytes); }
void* memalign(std::size_t alignment, std::size_t bytes) noexcept {
  return support::count_allocation(), __libc_memalign(alignment, bytes);
}
void* aligned_alloc(std::size_t alignment, std::size_t bytes) noexcept {
  return support::count_allocation(), __libc_memalign(alignment, bytes);
}
int posix_memalign(void** p, std::size_t alignment, std::size_t bytes) noexcept {
  return support::count_allocation(), (*p = __libc_memalign(alignment, bytes)) ? 0 : ENOMEM;
}
}
namespace support {
inline constexpr bool counted = true;
}
#else
namespace support {
inline constexpr bool counted = false;
}
#endif
