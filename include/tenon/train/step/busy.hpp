// The thread that trains or evaluates a Model, so that no second run changes the data of the first.
#pragma once
#include <string_view>

#include <tenon/core/error.hpp>
#include <tenon/core/thread/atomic.hpp>

namespace tenon::inline TENON_ABI::detail {

/// The thread in a run of one kind. Movable, as the Model is; a Model that runs is not moved.
class RunningThread {
 public:
  explicit constexpr RunningThread(std::string_view what) : what_(what) {}

  /// Throws RuntimeError if another thread is in the run.
  void refuse_others(std::string_view asked) const {
    if (const void* thread = owner().load(); thread && thread != this_thread()) refuse(asked, thread);
  }

 private:
  friend class Busy;

  // The address of something that each thread has one of.
  static const void* this_thread() {
    static thread_local char mine;
    return &mine;
  }
  AtomicRef<const void*> owner() const { return AtomicRef(thread_); }
  [[noreturn, gnu::cold]] void refuse(std::string_view asked, const void* thread) const;

  std::string_view what_;
  mutable const void* thread_ = nullptr;
};

/// A run of one kind, until the end of the scope. Refuses to begin a second one of the same kind: it would overwrite
/// what the first one still reads.
class Busy {
 public:
  explicit Busy(RunningThread& run) : run_(run) {
    const void* thread = nullptr;
    if (!run.owner().compare_exchange_strong(thread, RunningThread::this_thread())) run.refuse(run.what_, thread);
  }
  ~Busy() { run_.owner().store(nullptr); }
  Busy(const Busy&) = delete;
  Busy& operator=(const Busy&) = delete;

 private:
  RunningThread& run_;
};

#if TENON_DEFINES
[[gnu::noinline]] TENON_INLINE void RunningThread::refuse(std::string_view asked, const void* thread) const {
  if (thread == this_thread())
    throw_error<RuntimeError>(asked, " was called by a callback of ", what_,
                              " of the same Model: run it before or after.");
  throw_error<RuntimeError>(asked, " was called while another thread is in ", what_,
                            " of the same Model: wait for its end, or give each thread a network (clone()) and a "
                            "Model of its own.");
}
#endif  // TENON_DEFINES

}  // namespace tenon::detail
