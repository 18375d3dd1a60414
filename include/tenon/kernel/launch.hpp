// How kernels of the CPU are started outside of a compiled graph.
#pragma once
#include <atomic>

#include <tenon/core/memory/storage.hpp>
#include <tenon/core/parallel.hpp>
#include <tenon/graph/execute/launch_there.hpp>

namespace tenon::inline TENON_ABI {

/// Scratch memory per thread for kernels called outside a plan; grows, never shrinks. Null if there is none: a worker
/// must not throw.
inline std::byte* thread_workspace(long bytes) {
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

/// Runs a kernel of the CPU on all its items, shared between threads if that pays.
inline void launch(void (*run)(const Arguments&, long, long), const Arguments& arguments, const KernelWork& work) {
  detail::bring_home(arguments);
  // the usual small call: nothing to share, nothing to prepare
  if (work.items * work.cost <= cost_per_thread && !work.workspace) {
    if (work.items) run(arguments, 0, work.items);
    return;
  }
  std::atomic<bool> no_memory = false;
  parallel_for(work.items, cost_per_thread / (work.cost + 1) + 1, [&](long begin, long end) {
    Arguments own = arguments;
    if (work.workspace && !(own.workspace = thread_workspace(work.workspace)))
      no_memory.store(true, std::memory_order_relaxed);
    else run(own, begin, end);
  });
  if (no_memory.load(std::memory_order_relaxed))
    detail::refuse_memory(double(work.workspace), "the workspace of a kernel");
}
inline void launch(const KernelEntry& kernel, const Arguments& arguments) {
  launch(kernel.run, arguments, kernel.work(arguments.n));
}

}  // namespace tenon
