// The thread pool: one fork and join at a time, a static partition, no allocation per call.
#pragma once
#include <tenon/core/float/denormals.hpp>
#include <tenon/core/function_ref.hpp>
#include <tenon/core/math/min_max.hpp>
#if TENON_DEFINES
#include <cstddef>
#include <exception>

#include <tenon/core/thread/atomic.hpp>
#include <tenon/core/thread/threads.hpp>
#endif

namespace tenon::inline TENON_ABI {

/// Runs `work(part)` for part = 0 .. parts - 1 on up to `threads()` threads, the caller among them.
///
/// Workers spin for some microseconds after a job and then sleep, so that an idle pool does not slow other programs. On
/// Linux a worker that finds itself on the caller's processor moves to another one that it may use; nothing stays
/// pinned.
/// A second thread that calls while a job runs, and a job that calls again, run all parts inline. A forked child gets a
/// new pool, which makes its own workers when it first needs them; only fork() from within a job is not supported.
/// An exception of `work` ends the parts of its thread; run() throws the first one after all threads have ended theirs.
class ThreadPool {
 public:
  using Work = void (*)(void* context, int part);

  static ThreadPool& instance();

  /// Number of threads that a job may use, the caller included. 1 needs no worker.
  int threads() const;
  /// Whether jobs of this thread run all parts inline, for a program that has work for the other processors.
  static bool& alone();
  void set_threads(int count);

  void run(int parts, Work work, void* context);

 protected:
  ThreadPool() = default;
  ~ThreadPool() = default;
};

/// Calls f(begin, end) for consecutive ranges that cover 0 .. items, one per thread at most, none below `grain` items.
#if defined(TENON_EMBEDDED)
inline void parallel_for(long items, long, FunctionRef<long, long> f) { f(0, items); }
#else
void parallel_for(long items, long grain, FunctionRef<long, long> f);
#endif

#if TENON_DEFINES
namespace detail {
/// The pool with its threads, apart from what callers see of it, so that they read none of the headers of threads.
class Workers final : public ThreadPool {
 public:
  // Never destroyed: workers may outlive static objects. In a forked child the old workers are gone and the old locks
  // may be held by them forever, so that it starts anew.
  [[gnu::noinline]] static Atomic<Workers*>& current() {
    static Atomic<Workers*> pool = [] {
      ::pthread_atfork(nullptr, nullptr, [] {
        auto* fresh = new Workers;
        fresh->parents_ = current().load(MemoryOrder::acquire);
        fresh->set_threads(fresh->parents_->threads());
        current().store(fresh, MemoryOrder::release);
      });
      return new Workers;
    }();
    return pool;
  }

  int threads() const { return threads_.load(MemoryOrder::relaxed); }
  void set_threads(int count) { threads_.store(math::max(1, count), MemoryOrder::relaxed); }

  [[gnu::noinline]] void run(int parts, Work work, void* context) {
    const int workers = math::min(parts, threads()) - 1;  // read once: another thread may change it
    if (workers <= 0 || alone() || busy_.exchange(true, MemoryOrder::acquire)) {
      for (int part = 0; part < parts; ++part) work(context, part);
      return;
    }
    std::exception_ptr failure;
    {
      const Join join{*this, failure};
      start_workers(workers);
      {
        const Lock lock(mutex_);
        work_ = work;
        context_ = context;
        parts_ = parts;
        active_ = workers;
        processor_ = processor();
        pending_.store(active_, MemoryOrder::relaxed);
        generation_.fetch_add(1, MemoryOrder::release);
      }
      if (sleeping_.load(MemoryOrder::acquire)) wake_.notify_all();
      run_share(0);
    }
    if (failure) std::rethrow_exception(failure);
  }

 private:
  // About 60 microseconds: longer than most pauses between the forks of a step. A worker that sleeps takes 25 to wake
  // up, and its caller 10 to wake it. Workers do not yield meanwhile: one that yields to another program gets its
  // processor back milliseconds later, one that sleeps when it is woken.
  static constexpr int spins = 2048;
  // Spins once, which leaves a core that runs two threads to the other one.
  static void pause() {
#if defined(__x86_64__)
    asm volatile("pause");
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
  }

  // Waits for the workers before the job's data goes out of scope, also if the caller's own share throws.
  struct Join {
    Workers& pool;
    std::exception_ptr& failure;  // of a worker
    ~Join() {
      for (int spin = 0; pool.pending_.load(MemoryOrder::acquire); ++spin)
        if (spin < spins) pause();
        else yield_processor();
      failure.swap(pool.failure_);
      pool.busy_.store(false, MemoryOrder::release);
    }
  };

  void run_workers_share(int index) noexcept try { run_share(index); } catch (...) {
    const Lock lock(mutex_);
    if (!failure_) failure_ = std::current_exception();
  }
  // Thread `index` of active_ + 1 runs parts index, index + active_ + 1, ...
  void run_share(int index) {
    for (int part = index; part < parts_; part += active_ + 1) work_(context_, part);
  }
  void start_workers(int wanted) {
    while (workers_ < wanted) {
      // it never ends
      Thread([this, index = workers_ + 1, seen = generation_.load()] { work_loop(index, seen); }).detach();
      ++workers_;
    }
  }
  void work_loop(int index, unsigned seen) {
    const FlushDenormals flush;
    for (;;) {
      for (int spin = 0; generation_.load(MemoryOrder::acquire) == seen; ++spin) {
        if (spin < spins) {
          pause();
        } else {
          Lock lock(mutex_);
          sleeping_.fetch_add(1);
          wake_.wait(lock, [&] { return generation_.load() != seen; });
          sleeping_.fetch_sub(1);
        }
      }
      int active, callers;
      {
        const Lock lock(mutex_);
        seen = generation_.load();
        active = active_;
        callers = processor_;
      }
      if (index > active) continue;
      if (processor() == callers) leave(callers, active);
      run_workers_share(index);
      pending_.fetch_sub(1, MemoryOrder::release);
    }
  }

  // A system that wakes a worker may put it on the caller's processor although another one is free, as a virtual one
  // that halts does not always count as free. There they take turns, and it can take milliseconds until one is moved.
#if defined(__linux__)
  static int processor() { return ::sched_getcpu(); }
  // Moves this worker from there, unless there are too few processors.
  [[gnu::noinline, gnu::cold]] static void leave(int callers, int workers) {
    cpu_set_t allowed;
    if (callers < 0 || ::sched_getaffinity(0, sizeof allowed, &allowed) || CPU_COUNT(&allowed) <= workers) return;
    const auto number = static_cast<std::size_t>(callers);
    CPU_CLR(number, &allowed);
    ::sched_setaffinity(0, sizeof allowed, &allowed);
    CPU_SET(number, &allowed);
    ::sched_setaffinity(0, sizeof allowed, &allowed);
  }
#else
  static int processor() { return -1; }
  static void leave(int, int) {}
#endif

  Atomic<int> threads_{processors()};
  Atomic<bool> busy_{false};
  Mutex mutex_;
  Condition wake_;
  Atomic<unsigned> generation_{0};
  Atomic<int> pending_{0}, sleeping_{0};
  std::exception_ptr failure_;  // the first of a worker, of the job under way
  Work work_ = nullptr;
  void* context_ = nullptr;
  int parts_ = 0, active_ = 0, workers_ = 0, processor_ = -1;  // the caller's
  Workers* parents_ = nullptr;  // of the process that forked this one: no more of use, but known to leak detectors
};
}  // namespace detail

TENON_INLINE ThreadPool& ThreadPool::instance() {
  return *detail::Workers::current().load(detail::MemoryOrder::acquire);
}
TENON_INLINE bool& ThreadPool::alone() {
  thread_local bool value = false;
  return value;
}
TENON_INLINE int ThreadPool::threads() const {
  return alone() ? 1 : static_cast<const detail::Workers&>(*this).threads();
}
TENON_INLINE void ThreadPool::set_threads(int count) { static_cast<detail::Workers&>(*this).set_threads(count); }
TENON_INLINE void ThreadPool::run(int parts, Work work, void* context) {
  static_cast<detail::Workers&>(*this).run(parts, work, context);
}

[[gnu::noinline]] TENON_INLINE void parallel_for(long items, long grain, FunctionRef<long, long> f) {
  const int parts =
      int(math::max<long>(math::min<long>(items / math::max<long>(grain, 1), ThreadPool::instance().threads()), 1));
  if (parts == 1) {
    if (items > 0) f(long{0}, items);
    return;
  }
  struct Job {
    FunctionRef<long, long> f;
    long items;
    int parts;
  } all{f, items, parts};
  ThreadPool::instance().run(
      parts,
      [](void* c, int part) {
        const auto& job = *static_cast<const Job*>(c);
        job.f(job.items * part / job.parts, job.items * (part + 1) / job.parts);
      },
      &all);
}
#endif  // TENON_DEFINES

}  // namespace tenon
