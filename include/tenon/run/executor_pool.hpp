// Executors for callers in several threads: each call has one to itself, with scratch memory of its own.
#pragma once

#include <tenon/core/thread/atomic.hpp>
#include <tenon/run/executor.hpp>
#if TENON_DEFINES
#include <utility>

#include <tenon/core/memory/owned.hpp>
#include <tenon/core/thread/parallel.hpp>
#include <tenon/core/thread/threads.hpp>
#endif

namespace tenon::inline TENON_ABI {

namespace detail {
class SharedExecutors;
struct ExecutorSlot;
}  // namespace detail

/// Lends executors of compiled graphs. More are made while calls overlap, at most one per processor and program:
/// further callers wait until one comes back, for more threads than processors would not be done earlier. A forked
/// child makes its own: what other threads had at the fork never comes back there.
class ExecutorPool {
  using Shared = detail::SharedExecutors;

 public:
  ExecutorPool();
  ~ExecutorPool();
  ExecutorPool(const ExecutorPool&) = delete;
  ExecutorPool& operator=(const ExecutorPool&) = delete;

  /// An executor for one call. It goes back at the end of the scope, also if the call throws.
  class Lease {
   public:
    Lease(ExecutorPool& pool, const Program& program);
    ~Lease();
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;
    Executor& operator*() const;

   private:
    Shared& shared_;
    detail::ExecutorSlot& slot_;
  };

  /// Executors of a program that are ever made.
  static int most();

 private:
  Shared& shared();
  [[gnu::cold]] Shared& renew(Shared* old);

  detail::Atomic<Shared*> shared_;
};

#if TENON_DEFINES
namespace detail {

struct alignas(alignment) ExecutorSlot {
  ExecutorSlot(const Program& program, ExecutorSlot* later) : executor(program), next(later) {}
  Executor executor;
  Atomic<bool> busy{true};
  ExecutorSlot* const next;
};

/// The executors of one process. A call takes one that is free by an atomic step; no lock is held while it computes.
class SharedExecutors {
 public:
  using Slot = ExecutorSlot;

  SharedExecutors() = default;
  ~SharedExecutors() {
    for (Slot* slot = first_; slot;) delete std::exchange(slot, slot->next);
  }
  SharedExecutors(const SharedExecutors&) = delete;
  SharedExecutors& operator=(const SharedExecutors&) = delete;

  /// False in a forked child, which has another thread pool.
  bool of_this_process() const { return pool_ == &ThreadPool::instance(); }

  /// Executors of a program that are ever made. A call of the system: not for every prediction.
  static int most() { return processors(); }

  Slot& take(const Program& program) {
    Slot* const slot = find(program);
    return slot ? *slot : make_or_wait(program);
  }
  void give_back(Slot& slot) {
    slot.busy.store(false);
    if (waiting_.load()) wake();
  }

 private:
  // A free one, which is busy from now on, or null.
  Slot* find(const Program& program) {
    for (Slot* slot = first_.load(MemoryOrder::acquire); slot; slot = slot->next)
      if (&slot->executor.program() == &program && !slot->busy.load() && !slot->busy.exchange(true)) return slot;
    return nullptr;
  }
  [[gnu::noinline, gnu::cold]] Slot& make_or_wait(const Program& program) {
    const int most = SharedExecutors::most();
    Lock lock(mutex_);
    for (;;) {
      int made = 0;
      for (const Slot* slot = first_; slot; slot = slot->next) made += &slot->executor.program() == &program;
      if (made < most) {
        first_ = new Slot(program, first_);
        return *first_;
      }
      // A thread that gives one back either sees this waiter, or has done it before this looks again.
      ++waiting_;
      Slot* const slot = find(program);
      if (!slot) returned_.wait(lock);
      --waiting_;
      if (slot) return *slot;
      if (Slot* const back = find(program)) return *back;
    }
  }
  [[gnu::noinline, gnu::cold]] void wake() {
    {
      const Lock lock(mutex_);
    }  // no thread is between its last look and its sleep
    returned_.notify_all();
  }

  const ThreadPool* const pool_ = &ThreadPool::instance();
  Atomic<Slot*> first_{nullptr};
  Atomic<int> waiting_{0};
  Mutex mutex_;
  Condition returned_;
};

}  // namespace detail

TENON_INLINE_CONSTRUCTOR ExecutorPool::ExecutorPool() : shared_(new Shared) {}
TENON_INLINE_CONSTRUCTOR ExecutorPool::~ExecutorPool() {
  if (Shared* const shared = shared_.load(); shared->of_this_process()) delete shared;
}
TENON_INLINE_CONSTRUCTOR ExecutorPool::Lease::Lease(ExecutorPool& pool, const Program& program)
    : shared_(pool.shared()), slot_(shared_.take(program)) {}
TENON_INLINE_CONSTRUCTOR ExecutorPool::Lease::~Lease() { shared_.give_back(slot_); }
TENON_INLINE Executor& ExecutorPool::Lease::operator*() const { return slot_.executor; }

TENON_INLINE int ExecutorPool::most() { return Shared::most(); }

TENON_INLINE ExecutorPool::Shared& ExecutorPool::shared() {
  Shared* const shared = shared_.load(detail::MemoryOrder::acquire);
  return shared->of_this_process() ? *shared : renew(shared);
}
// The parent's are left as they are: their locks may be held for ever.
[[gnu::noinline]] TENON_INLINE ExecutorPool::Shared& ExecutorPool::renew(Shared* old) {
  tenon::detail::Owned<Shared> fresh(new Shared);
  return *(shared_.compare_exchange_strong(old, fresh.get()) ? fresh.release() : old);
}
#endif  // TENON_DEFINES

}  // namespace tenon
