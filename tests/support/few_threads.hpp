// A system that makes no more threads than a test allows. To be included by one source of a program: its pthread_create
// stands before that of the C library, also for the C++ library.
#pragma once
#include <atomic>
#include <cerrno>
#include <limits>

#include <dlfcn.h>
#include <pthread.h>

namespace support {

/// Threads that the system still makes.
inline std::atomic<long> threads_left{std::numeric_limits<long>::max()};

/// For a scope, as many threads at most.
struct FewThreads {
  explicit FewThreads(long most) { threads_left = most; }
  FewThreads(const FewThreads&) = delete;
  ~FewThreads() { threads_left = std::numeric_limits<long>::max(); }
};

}  // namespace support

extern "C" int pthread_create(pthread_t* id, const pthread_attr_t* attributes, void* (*body)(void*),
                              void* argument) noexcept {
  if (support::threads_left.fetch_sub(1) <= 0) return EAGAIN;
  static auto* const real = reinterpret_cast<decltype(&pthread_create)>(::dlsym(RTLD_NEXT, "pthread_create"));
  return real(id, attributes, body, argument);
}
