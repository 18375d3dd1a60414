// Counts heap allocations: of all threads, in the standard library too, for every one of them ends in these functions
// of glibc. They replace those of the whole program, so one source file may include this.
#pragma once
#include <atomic>
#include <cerrno>
#include <cstddef>

namespace benchmark {
inline std::atomic<long> allocations{0};
inline void count_allocation() { allocations.fetch_add(1, std::memory_order_relaxed); }
}  // namespace benchmark

#if !defined(__CUDACC__)  // to nvcc malloc is a function of the device, too
extern "C" {
void* __libc_malloc(std::size_t bytes);
void* __libc_calloc(std::size_t count, std::size_t bytes);
void* __libc_realloc(void* p, std::size_t bytes);
void* __libc_memalign(std::size_t alignment, std::size_t bytes);

void* malloc(std::size_t bytes) { return benchmark::count_allocation(), __libc_malloc(bytes); }
void* calloc(std::size_t number, std::size_t bytes) {
  return benchmark::count_allocation(), __libc_calloc(number, bytes);
}
void* realloc(void* p, std::size_t bytes) { return benchmark::count_allocation(), __libc_realloc(p, bytes); }
void* memalign(std::size_t alignment, std::size_t bytes) {
  return benchmark::count_allocation(), __libc_memalign(alignment, bytes);
}
void* aligned_alloc(std::size_t alignment, std::size_t bytes) {
  return benchmark::count_allocation(), __libc_memalign(alignment, bytes);
}
int posix_memalign(void** p, std::size_t alignment, std::size_t bytes) {
  return benchmark::count_allocation(), (*p = __libc_memalign(alignment, bytes)) ? 0 : ENOMEM;
}
}
#endif
