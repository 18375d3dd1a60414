// The batch size that would fit if a step ran out of memory while it ran operator by operator.
#pragma once
#include <tenon/run/refuse_scratch.hpp>
#if TENON_DEFINES
#include <tenon/core/thread/parallel.hpp>
#endif

namespace tenon::inline TENON_ABI::detail {

/// Bytes of all values that a step computes, as if none was let go before its end: per sample, of images, of the rest.
struct ValuesOfStep {
  long per_sample = 0, images = 0, fixed = 0;
};
template <class Graph>
constexpr ValuesOfStep values_of_step() {
  ValuesOfStep all;
  for (int id = 0; id < Graph::captured.graph.count; ++id) {
    const Node& node = Graph::captured.graph[id];
    if (node.op->leaf || node.op->view || node.op->effect) continue;
    long& sum = !node.type.batched() ? all.fixed : is_image(node.type) ? all.images : all.per_sample;
    sum += aligned(node.type.bytes(1));
  }
  return all;
}

/// Throws OutOfMemory again, with a batch size below n that is sure to fit: which one just does depends on when
/// construct lets its tensors go. `program`: the same step as a graph.
[[noreturn, gnu::cold]] void refuse_step(const OutOfMemory& error, const Program& program, const ValuesOfStep& values,
                                         long n);

#if TENON_DEFINES
[[gnu::noinline]] TENON_INLINE void refuse_step(const OutOfMemory& error, const Program& program,
                                                const ValuesOfStep& values, long n) {
  struct Context {
    const Program& program;
    const ValuesOfStep& values;
    int threads;
  } const context{program, values, ThreadPool::instance().threads()};
  Storage::give_back_kept();
  const auto bytes = [](const void* of, long batch) {
    const auto& [graph, all, threads] = *static_cast<const Context*>(of);
    // Blocks of memory are up to a quarter larger than what is in them. An operator may want images in another layout,
    // too (core/nchw16n.hpp). A kernel alone may need a larger workspace than a fused one.
    return 1.25 * (double(all.per_sample) * double(batch) + 2 * double(all.images) * double(whole_blocks(batch)) +
                   double(all.fixed)) +
           2.0 * threads * double(graph.workspace(batch));
  };
  // The least that is sure to fit is not the least that fits.
  const long least = smallest_batch(program);
  if (bytes(&context, least) > free_memory()) throw error;
  refuse_memory(error, fitting_batch(least, n, bytes, &context));
}
#endif  // TENON_DEFINES

/// What a step operator by operator calls where memory is short, with its batch size.
struct StepRefusal {
  void (*refuse)(const OutOfMemory& error, long n);
  long n;
};

}  // namespace tenon::detail
