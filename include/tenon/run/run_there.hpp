// A compiled graph on the second target.
#pragma once
#include <algorithm>

#include <tenon/run/executor.hpp>

#if TENON_DEFINES && defined(TENON_TARGET)
namespace tenon::inline TENON_ABI {

namespace detail {
/// A copy of the constants of a program, for kernels that cannot read the program's own.
[[gnu::cold]] inline TargetBytes constants_there(const Program& program) {
  long bytes = 0;
  for (int id = 0; id < program.nodes; ++id)
    if (program.place[id].region == Region::constant) bytes = std::max(bytes, program.place[id].offset + 8);
  TargetBytes made(std::size_t(bytes), "the constants of a graph");
  if (bytes) std::memcpy(made.address(), program.constant, std::size_t(bytes));
  return made;
}
}  // namespace detail

[[gnu::noinline]] TENON_INLINE void Executor::run_there(const void* const* inputs, long n) {
  if (!there_.constants.address()) there_.constants = detail::constants_there(*program_);
  if (n != n_) resolve(n, 1);
  input_ = inputs;
  for (void*& column : there_.now) column = nullptr;
  there_.launches.clear();
  try {
    for (Resolved& r : resolved_)
      if (r.active) list_there(r);
  } catch (...) {
    submit_there();  // what comes before has run
    throw;
  }
  submit_there();
}
TENON_INLINE void Executor::submit_there() {
  detail::submit(program_->target, {program_, n_}, {there_.launches.begin(), there_.launches.size()});
  there_.launches.clear();
}
// Puts an instruction on the list of the step, or does what the host has to do for it when all before has run.
[[gnu::noinline]] TENON_INLINE void Executor::list_there(Resolved& r) {
  const Node& node = program_->node[r.instruction->node];
  detail::BufferBytes bytes{node.type.bytes(n_)};
  for (int k = 1; k < r.instruction->buffers; ++k) bytes[k] = program_->type_of(r.instruction->node, k).bytes(n_);
  if (!inputs_there(r, bytes)) return;
  const Arguments& a = r.arguments;
  [[maybe_unused]] const auto tell = [&](auto when) {
    if constexpr (observable)
      if (detail::Observation* const innermost = detail::observation()) {
        submit_there();
        when(detail::GraphObserver(*innermost, *program_, base_[int(Region::parameters)], n_));
      }
  };
  tell([&](const auto& observer) { observer.before(node, a); });
  if (node.op->host_effect) {
    submit_there();
    for (int k = 0; k < r.instruction->buffers; ++k)
      if (a.buffer[k] && bytes[k])
        detail::home(static_cast<std::byte*>(a.buffer[k]), std::size_t(bytes[k]), detail::Look::read);
    r.instruction->kernel->run(a, 0, 1);
  } else {
    const detail::CallThere call{.target = program_->target,
                                 .name = node.op->name,
                                 .kernel = *r.instruction->kernel,
                                 .effect = node.op->effect,
                                 .operands = node.operands,
                                 .flag = r.instruction->guarded ? base_[int(Region::state)] + overflow_state : nullptr,
                                 .node = r.instruction->node};
    if (!call.is_empty(bytes)) there_.launches.push_back(detail::prepare_launch(call, a, bytes));
  }
  tell([&](const auto& observer) { observer.after(node, a); });
}
// Columns of the batch go there once in a step, to memory of this executor, unless they are tensors. False if one is
// missing. Throws ValueError for an index that is out of range, which the host looks for.
[[gnu::noinline]] TENON_INLINE bool Executor::inputs_there(Resolved& r, const detail::BufferBytes& bytes) {
  const auto column_of = [&](int k) {
    const BufferPlace& place = r.instruction->buffer[k];
    return place.region == Region::input ? int(place.offset) : -1;
  };
  for (int k = 0; k < r.instruction->buffers; ++k)
    if (const int column = column_of(k); column >= 0 && !(r.arguments.buffer[k] = input(column))) return false;
  if (const IndexRange* const range = r.instruction->kernel->indices) {
    if (column_of(range->operand + 1) < 0) submit_there();  // the network computes them: the host waits for that
    look_at_indices(r);
  }
  for (int k = 0; k < r.instruction->buffers; ++k) {
    const int column = column_of(k);
    if (column < 0 || bytes[k] == 0) continue;
    there_.column.fill(std::size_t(column) + 1), there_.now.fill(std::size_t(column) + 1);
    void*& now = there_.now[std::size_t(column)];
    if (!now) {
      std::byte* const data = static_cast<std::byte*>(r.arguments.buffer[k]);
      TargetBytes& own = there_.column[std::size_t(column)];
      if (detail::TargetMemory::instance().knows(data)) now = data;
      else {
        if (own.bytes() < std::size_t(bytes[k]))
          own = TargetBytes(std::size_t(bytes[k]), "a column of a batch", detail::BlockOf::scratch);
        detail::TargetMemory::instance().fill(program_->target, own.address(), data, std::size_t(bytes[k]));
        now = own.address();
      }
    }
    r.arguments.buffer[k] = now;
  }
  return true;
}

}  // namespace tenon
#endif
