// How much memory operator new has given at most at one time. Included by one file of a program: it replaces operator
// new. The sanitizers have their own.
#pragma once
#include <malloc.h>
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>

namespace support {
inline std::atomic<long> live_bytes{0}, peak_bytes{0};

inline void* counted_block(void* block) {
  if (!block) throw std::bad_alloc();
  const long now = live_bytes += long(::malloc_usable_size(block));
  if (now > peak_bytes) peak_bytes = now;
  return block;
}
inline void free_block(void* block) {
  if (block) live_bytes -= long(::malloc_usable_size(block));
  std::free(block);
}

/// The most bytes that act() had at one time beside those that were there before.
template <class Act>
long peak_of(Act act) {
  const long before = live_bytes;
  peak_bytes = before;
  act();
  return peak_bytes - before;
}
}  // namespace support

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
void* operator new(std::size_t bytes) { return support::counted_block(std::malloc(bytes ? bytes : 1)); }
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  void* block = nullptr;
  return ::posix_memalign(&block, std::size_t(alignment), bytes ? bytes : 1) == 0 ? support::counted_block(block)
                                                                                  : throw std::bad_alloc();
}
void operator delete(void* block) noexcept { support::free_block(block); }
void operator delete(void* block, std::size_t) noexcept { support::free_block(block); }
void operator delete(void* block, std::align_val_t) noexcept { support::free_block(block); }
void operator delete(void* block, std::size_t, std::align_val_t) noexcept { support::free_block(block); }
#endif
