// Which batch would fit if a step ran out of memory while it ran operator by operator.
#pragma once
#include <tenon/graph/execute/refuse_scratch.hpp>
#if TENON_DEFINES
#include <tenon/core/parallel.hpp>
#endif

namespace tenon::inline TENON_ABI::detail {

/// Bytes of all values that a step computes, as if none was let go before its end. Images count twice: an operator may
/// want them in another layout (core/nchw16n.hpp).
template <class Graph>
constexpr ScratchSize values_of_step() {
  ScratchSize all;
  for (int id = 0; id < Graph::captured.count; ++id) {
    const Node& node = Graph::captured[id];
    if (node.op->leaf || node.op->view || node.op->effect) continue;
    (node.type.batched() ? all.per_sample : all.fixed) += aligned(node.type.bytes(1)) * (is_image(node.type) ? 2 : 1);
  }
  return all;
}

/// Throws OutOfMemory again, with a batch size below n that is sure to fit: which one just does depends on when
/// construct lets its tensors go. `program`: the same step as a graph.
[[noreturn, gnu::cold]] void refuse_batch(const OutOfMemory& error, const Program& program, const ScratchSize& values,
                                          long n);

#if TENON_DEFINES
[[gnu::noinline]] TENON_INLINE void refuse_batch(const OutOfMemory& error, const Program& program,
                                                 const ScratchSize& values, long n) {
  struct Context {
    const Program& program;
    const ScratchSize& values;
    int threads;
  } const context{program, values, ThreadPool::instance().threads()};
  Storage::give_back_kept();
  const auto bytes = [](const void* of, long batch) {
    const auto& [graph, all, threads] = *static_cast<const Context*>(of);
    constexpr double most_waste = 1.25;  // of blocks; kernels alone may need more scratch than fused ones
    return most_waste * (double(all.per_sample) * double(whole_blocks(batch)) + double(all.fixed)) +
           2.0 * threads * double(graph.workspace(batch));
  };
  std::string fits = fitting_batch(least_batch(program), n, bytes, &context);
  refuse_memory(error, fits);
}
#endif  // TENON_DEFINES

}  // namespace tenon::detail
