// How kernels of the CPU are started outside of a compiled graph.
#pragma once
#include <atomic>

#include <tenon/core/memory/storage.hpp>
#include <tenon/core/thread/parallel.hpp>
#include <tenon/run/launch_there.hpp>

namespace tenon::inline TENON_ABI {

/// Scratch memory per thread for kernels called outside a plan; grows, never shrinks. Null if there is none: a worker
/// must not throw.
inline std::byte* thread_workspace_or_null(long bytes) {
  thread_local Storage scratch;
  thread_local long size = 0;
  if (bytes > size) try {
      scratch = Storage(static_cast<std::size_t>(bytes));  // throws before the old one goes
      size = bytes;
    } catch (const OutOfMemory&) {
      return nullptr;
    }
  return scratch.data();
}

namespace detail {
/// Holds the workspace of the thread that launches a kernel, which others borrow that get none of their own.
class LentWorkspace {
 public:
  explicit LentWorkspace(std::atomic<bool>* lent) : lent_(lent) {
    while (lent_ && lent_->exchange(true, std::memory_order_acquire)) lent_->wait(true, std::memory_order_relaxed);
  }
  ~LentWorkspace() {
    if (!lent_) return;
    lent_->store(false, std::memory_order_release);
    lent_->notify_one();
  }
  LentWorkspace(const LentWorkspace&) = delete;
  LentWorkspace& operator=(const LentWorkspace&) = delete;

 private:
  std::atomic<bool>* lent_;  // null: not that one
};
}  // namespace detail

/// Runs a kernel of the CPU on all its items, shared between threads if that pays. Throws OutOfMemory before anything
/// has run: a kernel may have an effect, which must not be there by half, or twice after another try.
inline void launch(void (*run)(const Arguments&, long, long), const Arguments& arguments, const KernelWork& work) {
  detail::bring_home(arguments);
  // the usual small call: nothing to share, nothing to prepare
  if (work.items * work.cost <= cost_per_thread && !work.workspace) {
    if (work.items) run(arguments, 0, work.items);
    return;
  }
  std::byte* const mine = work.workspace ? thread_workspace_or_null(work.workspace) : nullptr;
  if (work.workspace && !mine) detail::refuse_memory(double(work.workspace), "the workspace of a kernel");
  std::atomic<bool> lent = false;
  parallel_for(work.items, cost_per_thread / (work.cost + 1) + 1, [&](long begin, long end) {
    Arguments own = arguments;
    if (work.workspace) own.workspace = thread_workspace_or_null(work.workspace);
    const bool borrows = work.workspace && (!own.workspace || own.workspace == mine);
    if (borrows) own.workspace = mine;
    const detail::LentWorkspace loan(borrows ? &lent : nullptr);
    run(own, begin, end);
  });
}
inline void launch(const KernelEntry& kernel, const Arguments& arguments) {
  launch(kernel.run, arguments, kernel.work(arguments.n));
}

}  // namespace tenon
