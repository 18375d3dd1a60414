// The executors of a Model's steps.
#pragma once
#include <initializer_list>

#include <tenon/core/memory/growing.hpp>
#include <tenon/core/memory/owned.hpp>
#include <tenon/run/executor.hpp>

namespace tenon::inline TENON_ABI::detail {

/// An executor per compiled graph of a training, made at first use. For one thread.
class ExecutorCache {
 public:
  Executor& get(const Program& program) {
    for (auto& e : executors_)
      if (&e->program() == &program) return *e;
    return make(program);
  }
  /// The scratch memory of all of these programs, which run in turns, goes to the one that runs next. A second target
  /// replays steps at the addresses that they have, so they keep theirs.
  void give_scratch(const Program* to, std::initializer_list<const Program*> all) {
    if (to->target != TargetId::cpu) return;
    Executor& next = get(*to);
    for (const Program* program : all)
      if (Executor& other = get(*program); &other != &next && other.bytes() > 0) next.take_scratch(other);
  }

 private:
  [[gnu::cold, gnu::noinline]] Executor& make(const Program& program) {
    return *executors_.push_back(Owned<Executor>(new Executor(program)));
  }

  Growing<Owned<Executor>> executors_;
};

}  // namespace tenon::detail
