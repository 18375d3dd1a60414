// Threads, locks, and conditions of the system. Those of the standard library do the same, but <thread>,
// <condition_variable>, and <mutex> took g++ 0.15 s in each program.
#pragma once
#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include <tenon/core/error.hpp>
#include <tenon/core/memory/owned.hpp>

namespace tenon::inline TENON_ABI::detail {

class Mutex {
 public:
  constexpr Mutex() = default;
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;

  void lock() { ::pthread_mutex_lock(&mutex_); }
  void unlock() { ::pthread_mutex_unlock(&mutex_); }

 protected:
  friend class Condition;
  ::pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
};
/// The thread that has it may lock it again.
class RecursiveMutex : public Mutex {
 public:
  RecursiveMutex() {
    ::pthread_mutexattr_t recursive;
    ::pthread_mutexattr_init(&recursive);
    ::pthread_mutexattr_settype(&recursive, PTHREAD_MUTEX_RECURSIVE);
    ::pthread_mutex_init(&mutex_, &recursive);
    ::pthread_mutexattr_destroy(&recursive);
  }
};

/// Holds a mutex until the end of the scope, but between unlock() and lock().
class Lock {
 public:
  explicit Lock(Mutex& mutex) : mutex_(mutex) { mutex_.lock(); }
  ~Lock() {
    if (held_) mutex_.unlock();
  }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

  void lock() {
    mutex_.lock();
    held_ = true;
  }
  void unlock() {
    held_ = false;
    mutex_.unlock();
  }

 private:
  friend class Condition;
  Mutex& mutex_;
  bool held_ = true;
};

class Condition {
 public:
  constexpr Condition() = default;
  ~Condition() { ::pthread_cond_destroy(&condition_); }
  Condition(const Condition&) = delete;
  Condition& operator=(const Condition&) = delete;

  /// May also return when nothing has notified.
  void wait(Lock& lock) { ::pthread_cond_wait(&condition_, &lock.mutex_.mutex_); }
  template <class Ready>
  void wait(Lock& lock, Ready ready) {
    while (!ready()) wait(lock);
  }
  void notify_one() { ::pthread_cond_signal(&condition_); }
  void notify_all() { ::pthread_cond_broadcast(&condition_); }

 private:
  ::pthread_cond_t condition_ = PTHREAD_COND_INITIALIZER;
};

/// A thread that calls f(), which must not throw. It needs a join() or a detach().
class Thread {
 public:
  Thread() = default;
  /// Throws RuntimeError when the system makes no more threads.
  template <class F>
  explicit Thread(F f) {
    Owned<F> call(new F(std::move(f)));
    start(
        [](void* body) noexcept -> void* {
          const Owned<F> owned(static_cast<F*>(body));
          (*owned)();
          return nullptr;
        },
        call.get());
    call.release();
  }
  void join() { ::pthread_join(id_, nullptr); }
  void detach() { ::pthread_detach(id_); }

 private:
  [[gnu::cold, gnu::noinline]] void start(void* (*body)(void*), void* call) {
    if (::pthread_create(&id_, nullptr, body, call) != 0)
      throw_error<RuntimeError>("The system makes no more threads: see its limits (ulimit -u, pids.max), or use fewer "
                                "(num_threads of the context, num_parallel_workers).");
  }
  ::pthread_t id_{};
};

inline void yield_processor() { ::sched_yield(); }
/// Processors of the machine that are online, 1 where that is unknown.
int processors();

#if TENON_DEFINES
TENON_INLINE int processors() {
  const long count = ::sysconf(_SC_NPROCESSORS_ONLN);
  return count > 0 ? int(count) : 1;
}
#endif

}  // namespace tenon::detail
