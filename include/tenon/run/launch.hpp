// How kernels of the CPU are started. start_kernel() is the one way: for the instructions of a graph, for tiles, and by
// launch() for the calls and derivatives of PyNative mode. Two places need less: run_small_call (call/call.hpp), where
// one more comparison is 1.5 % of a call, and run/unrolled.hpp, which names kernels by type so that the compiler can
// inline them. On another target submit() starts the kernels of a step (run/there/launch.hpp).
#pragma once
#include <tenon/core/math/min_max.hpp>
#include <tenon/core/memory/storage.hpp>
#include <tenon/core/thread/parallel.hpp>
#include <tenon/run/there/launch.hpp>

namespace tenon::inline TENON_ABI {

/// A kernel and its items.
struct KernelRun {
  void (*kernel)(const Arguments&, long begin, long end) = nullptr;
  long items = 0, cost = 1;
  long rows = 1;  // of a sample, each of which is one to the kernel (KernelEntry)

  /// The number of threads that are worth a fork and join, at most `threads`.
  long parts(int threads) const {
    if (threads == 1) return 1;
    return math::max<long>(1, math::min(items * cost / cost_per_thread, math::min<long>(threads, items)));
  }
};

namespace detail {
/// The same on several threads.
void start_parts(const KernelRun& run, const Arguments& arguments, long parts, long workspace);

/// The same where samples are several rows.
void start_on_rows(KernelRun run, Arguments arguments, long parts, long workspace);

/// Runs a kernel on all its items, divided into parts that threads share. Each part has a workspace of its own: part k
/// `workspace` k bytes after that of the arguments.
[[gnu::always_inline]] inline void start_kernel(const KernelRun& run, const Arguments& arguments, long parts = 1,
                                                long workspace = 0) {
  if (run.rows > 1) start_on_rows(run, arguments, parts, workspace);
  else if (parts > 1) start_parts(run, arguments, parts, workspace);
  else if (run.items) run.kernel(arguments, 0, run.items);
}

/// Finds memory for the workspace of each part, and fewer parts if there is too little. Throws OutOfMemory before
/// anything has run: a kernel may have an effect, which must not be there by half, or twice after another try.
void launch_with_workspace(const KernelRun& run, Arguments arguments, long workspace);
}  // namespace detail

/// Starts a kernel of the CPU outside of a compiled graph.
inline void launch(void (*run)(const Arguments&, long, long), const Arguments& arguments, const KernelWork& work,
                   long rows = 1) {
  detail::bring_home(arguments);
  const KernelRun all{run, work.items, work.cost, rows};
  if (work.workspace) detail::launch_with_workspace(all, arguments, work.workspace);
  else if (work.items * work.cost <= cost_per_thread) detail::start_kernel(all, arguments);  // the usual small call
  else detail::start_kernel(all, arguments, all.parts(ThreadPool::instance().threads()));
}
inline void launch(const KernelEntry& kernel, const Arguments& arguments) {
  launch(kernel.run, arguments, kernel.work(arguments.n), kernel.rows);
}

#if TENON_DEFINES
namespace detail {
[[gnu::noinline]] TENON_INLINE void start_parts(const KernelRun& run, const Arguments& arguments, long parts,
                                                long workspace) {
  struct Job {
    const KernelRun& run;
    const Arguments& arguments;
    long parts, workspace;
  } job{run, arguments, parts, workspace};
  ThreadPool::instance().run(
      int(parts),
      [](void* context, int part) {
        const Job& all = *static_cast<Job*>(context);
        Arguments own = all.arguments;
        own.workspace += all.workspace * part;
        all.run.kernel(own, all.run.items * part / all.parts, all.run.items * (part + 1) / all.parts);
      },
      &job);
}
[[gnu::noinline]] TENON_INLINE void start_on_rows(KernelRun run, Arguments arguments, long parts, long workspace) {
  arguments.n *= run.rows;
  run.rows = 1;
  start_kernel(run, arguments, parts, workspace);
}
[[gnu::noinline]] TENON_INLINE void launch_with_workspace(const KernelRun& run, Arguments arguments, long workspace) {
  Storage scratch;
  long parts = run.parts(ThreadPool::instance().threads());
  while (!scratch) try {
      scratch = Storage(std::size_t(parts * workspace));
    } catch (const OutOfMemory&) {
      if (parts == 1) refuse_memory(double(workspace), "the workspace of a kernel");
      parts /= 2;
    }
  arguments.workspace = scratch.data();
  start_kernel(run, arguments, parts, workspace);
}
}  // namespace detail
#endif  // TENON_DEFINES

}  // namespace tenon
