// A compiled graph on the second target.
#pragma once
#include <tenon/graph/execute/executor.hpp>

#if TENON_DEFINES && defined(TENON_TARGET)
namespace tenon::inline TENON_ABI {

[[gnu::noinline]] TENON_INLINE void Executor::run_there(const void* const* inputs, long n) {
  if (n != n_) resolve(n, 1);
  input_ = inputs;
  for (Resolved& r : resolved_) {
    if (!ready(r)) continue;
    const Node& node = program_->node[r.instruction->node];
    long bytes[max_operands + 1]{node.type.bytes(n)};
    for (int k = 1; k < r.instruction->buffers; ++k) bytes[k] = program_->type_of(r.instruction->node, k).bytes(n);
    Arguments a = r.arguments;
    a.workspace = nullptr;
    [[maybe_unused]] const auto tell = [&](auto when) {
      if constexpr (observable)
        if (detail::Observation* const innermost = detail::observation())
          when(detail::GraphObserver(*innermost, *program_, base_[int(Region::parameters)], n));
    };
    tell([&](const auto& observer) { observer.before(node, a); });
    if (node.op->host_effect) detail::bring_home(a), r.instruction->kernel->run(a, 0, 1);
    else detail::launch_there(*r.instruction->kernel, a, bytes, node.op->effect, node.operands);
    tell([&](const auto& observer) { observer.after(node, a); });
  }
}

}  // namespace tenon
#endif
