// Executors for callers in several threads: each call has one to itself, with scratch memory of its own.
#pragma once
#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>

#include <tenon/graph/executor.hpp>

namespace tenon::inline TENON_ABI {

/// Lends executors of compiled graphs. A call takes one that is free by an atomic step; no lock is held while it
/// computes. More are made while calls overlap, at most one per processor and program: further callers wait until one
/// comes back, for more threads than processors would not be done earlier.
class ExecutorPool {
  struct alignas(alignment) Slot {
    Slot(const Program& program, Slot* next) : executor(program), next(next) {}
    Executor executor;
    std::atomic<bool> busy{true};
    Slot* const next;
  };

 public:
  ExecutorPool() = default;
  ~ExecutorPool() {
    for (Slot* slot = first_; slot;) delete std::exchange(slot, slot->next);
  }
  ExecutorPool(const ExecutorPool&) = delete;
  ExecutorPool& operator=(const ExecutorPool&) = delete;

  /// An executor for one call. It goes back at the end of the scope, also if the call throws.
  class Lease {
   public:
    Lease(ExecutorPool& pool, const Program& program) : pool_(pool), slot_(pool.take(program)) {}
    ~Lease() { pool_.give_back(slot_); }
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;
    Executor& operator*() const { return slot_.executor; }

   private:
    ExecutorPool& pool_;
    Slot& slot_;
  };

  /// Executors of a program that are ever made.
  static int most() { return int(std::max(1u, std::thread::hardware_concurrency())); }

 private:
  Slot& take(const Program& program) {
    Slot* const slot = find(program);
    return slot ? *slot : make_or_wait(program);
  }
  // A free one, which is busy from now on, or null.
  Slot* find(const Program& program) {
    for (Slot* slot = first_.load(std::memory_order_acquire); slot; slot = slot->next)
      if (&slot->executor.program() == &program && !slot->busy.load() && !slot->busy.exchange(true)) return slot;
    return nullptr;
  }
  [[gnu::noinline, gnu::cold]] Slot& make_or_wait(const Program& program) {
    std::unique_lock lock(mutex_);
    for (;;) {
      int made = 0;
      for (const Slot* slot = first_; slot; slot = slot->next) made += &slot->executor.program() == &program;
      if (made < most()) {
        first_ = new Slot(program, first_);
        return *first_;
      }
      // Who gives one back either sees that somebody waits, or has done it before this looks again.
      ++waiting_;
      Slot* const slot = find(program);
      if (!slot) returned_.wait(lock);
      --waiting_;
      if (slot) return *slot;
      if (Slot* const back = find(program)) return *back;
    }
  }
  void give_back(Slot& slot) {
    slot.busy.store(false);
    if (waiting_.load()) wake();
  }
  [[gnu::noinline, gnu::cold]] void wake() {
    {
      const std::lock_guard lock(mutex_);
    }  // nobody is between his last look and his sleep
    returned_.notify_all();
  }

  std::atomic<Slot*> first_{nullptr};
  std::atomic<int> waiting_{0};
  std::mutex mutex_;
  std::condition_variable returned_;
};

}  // namespace tenon
