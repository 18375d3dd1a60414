// The table of a compiled graph for the target on which a thread computes, and an executor of it.
#pragma once
#include <tenon/lowering/compiled.hpp>
#include <tenon/run/executor.hpp>

namespace tenon::inline TENON_ABI {

/// The table of a graph for the target on which this thread computes.
template <class Graph>
const Program& program_here() {
  if constexpr (several_targets)
    if (detail::computes_there())
      return with_target(detail::TargetScope::current(),
                         []<class Target>(std::type_identity<Target>) -> const Program& {
                           return Graph::template On<Target>::program;
                         });
  return Graph::program;
}
/// An executor of it, one per thread.
template <class Graph>
Executor& executor_here() {
  if constexpr (several_targets)
    if (detail::computes_there())
      return with_target(detail::TargetScope::current(), []<class Target>(std::type_identity<Target>) -> Executor& {
        thread_local Executor executor(Graph::template On<Target>::program);
        return executor;
      });
  thread_local Executor executor(Graph::program);
  return executor;
}

}  // namespace tenon
