// The table of a compiled graph for the target on which a thread computes, and an executor of it.
#pragma once
#include <tenon/core/memory/owned.hpp>
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

/// An executor for one call: the one that this thread keeps. Where that is at work further up the stack of calls (an
/// observer may call the network that it observes), or is gone (in the destructor of a static), it is another one.
class ExecutorHere {
 public:
  struct Kept {
    Executor executor;
    bool& taken;  // outlives this
    Kept(const Program& program, bool& flag) : executor(program), taken(flag) {}
    ~Kept() { taken = true; }
    Kept(const Kept&) = delete;
    Kept& operator=(const Kept&) = delete;
  };

  explicit ExecutorHere(const Program& program) : own_(new Executor(program)), executor_(*own_) {}
  explicit ExecutorHere(Kept& kept) : executor_(kept.executor), taken_(&kept.taken) { *taken_ = true; }
  ~ExecutorHere() {
    if (taken_) *taken_ = false;
  }
  ExecutorHere(const ExecutorHere&) = delete;
  ExecutorHere& operator=(const ExecutorHere&) = delete;
  Executor& operator*() const { return executor_; }

 private:
  detail::Owned<Executor> own_;
  Executor& executor_;
  bool* taken_ = nullptr;
};

namespace detail {
template <class Table>
ExecutorHere executor_of() {
  thread_local bool taken = false;
  if (taken) return ExecutorHere(Table::program);
  thread_local ExecutorHere::Kept kept(Table::program, taken);
  return ExecutorHere(kept);
}
}  // namespace detail

/// An executor of a graph, for the target on which this thread computes.
template <class Graph>
ExecutorHere executor_here() {
  if constexpr (several_targets)
    if (detail::computes_there())
      return with_target(detail::TargetScope::current(), []<class Target>(std::type_identity<Target>) {
        return detail::executor_of<typename Graph::template On<Target>>();
      });
  return detail::executor_of<Graph>();
}

}  // namespace tenon
