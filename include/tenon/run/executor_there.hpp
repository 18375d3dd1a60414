// The instructions of a compiled graph as a list of kernel calls, which another target than the CPU gets in one piece.
#pragma once
#include <algorithm>

#include <tenon/run/executor.hpp>

#if TENON_DEFINES && defined(TENON_TARGET)
namespace tenon::inline TENON_ABI {

// A copy of the constants of the program, for kernels that cannot read the program's own.
[[gnu::cold]] TENON_INLINE void Executor::copy_constants() {
  if (there_.constants.address()) return;
  long bytes = 0;
  for (int id = 0; id < program_->nodes; ++id)
    if (program_->place[id].region == Region::constant) bytes = std::max(bytes, program_->place[id].offset + 8);
  there_.constants = TargetBytes(std::size_t(bytes), "the constants of a graph");
  if (bytes) std::memcpy(there_.constants.address(), program_->constant, std::size_t(bytes));
}
TENON_INLINE void Executor::begin_there() {
  there_.target = detail::TargetScope::current();
  there_.batch.begin(there_.target);
  there_.launches.clear();
}
TENON_INLINE void Executor::submit_there(bool ends) {
  detail::submit(there_.target, {program_, n_}, {there_.launches.begin(), there_.launches.size()}, &there_.batch, ends);
  there_.launches.clear();
}
// Puts an instruction on the list of the step, or does what the host has to do for it when all before has run.
[[gnu::noinline]] TENON_INLINE void Executor::list_there(Resolved& r) {
  const Node& node = program_->node[r.instruction->node];
  const Arguments& a = r.arguments;
  detail::BufferBytes bytes{};
  for (int k = 0; k < r.instruction->buffers; ++k) bytes[k] = bytes_of(r, k);
  if (node.op->host_effect) {
    submit_there();
    for (int k = 0; k < r.instruction->buffers; ++k)
      if (a.buffer[k] && bytes[k])
        detail::home(static_cast<std::byte*>(a.buffer[k]), std::size_t(bytes[k]), detail::Look::read);
    return detail::start_kernel({r.instruction->kernel->run, 1}, a);
  }
  const detail::CallThere call{.target = there_.target,
                               .name = node.op->name,
                               .kernel = *r.instruction->kernel,
                               .effect = node.op->effect,
                               .operands = node.operands,
                               .flag = r.instruction->guarded ? base_[int(Region::state)] + overflow_state : nullptr,
                               .node = r.instruction->node};
  if (!call.is_empty(bytes)) there_.launches.push_back(detail::prepare_launch(call, a, bytes));
}
// Puts the group of instructions that are a kernel per sample on the list, if i is its begin and all of it runs, and
// moves i to its end. An observer gets the instructions one by one instead, and so does a step for which the context
// asks for a library's products.
[[gnu::noinline]] TENON_INLINE bool Executor::list_samples(std::size_t& i) {
  const SampleGroup& group = program_->sample_group;
  if (group.end == 0 || i != std::size_t(group.begin) || n_ == 0 || get_context().math != Math::exact || !group.fits())
    return false;
  for (int k = group.begin; k < group.end; ++k)
    if (!ready(resolved_[std::size_t(k)])) return false;
  detail::Launch launch;
  launch.run = group.run, launch.name = "a kernel per sample", launch.node = resolved_[i].instruction->node;
  launch.samples = &group, launch.items = 1;
  launch.arguments.n = n_;
  for (; i < std::size_t(group.end); ++i) bring_there(resolved_[i], launch.arguments);
  launch.workspace = group.workspace(n_);
  if (launch.workspace)
    launch.arguments.workspace =
        detail::TargetMemory::instance().there(there_.target, resolved_[0].arguments.workspace,
                                               detail::TargetMemory::Use::overwrite, std::size_t(launch.workspace));
  there_.launches.push_back(launch);
  return true;
}
// Brings all that an instruction reads there, and notes the begin of each region there, and each column.
TENON_INLINE void Executor::bring_there(const Resolved& r, Arguments& a) {
  const Node& node = program_->node[r.instruction->node];
  using Use = detail::TargetMemory::Use;
  for (int k = 0; k < r.instruction->buffers; ++k) {
    auto* const data = static_cast<std::byte*>(r.arguments.buffer[k]);
    if (!data) continue;
    const bool written = detail::writes_buffer(node.op->effect, node.operands, k);
    const Use use = !written ? Use::read : node.op->effect ? Use::change : Use::overwrite;
    const BufferPlace place = program_->place_of(*r.instruction, k);
    std::byte* const there =
        detail::TargetMemory::instance().there(there_.target, data, use, std::size_t(bytes_of(r, k)));
    SampleBuffer buffer = SampleBuffer::scratch;
    const std::byte* begin = scratch_.address();
    switch (place.region) {
      case Region::parameters: buffer = SampleBuffer::parameters, begin = base_[int(place.region)]; break;
      case Region::state: buffer = SampleBuffer::state, begin = base_[int(place.region)]; break;
      case Region::constant: buffer = SampleBuffer::constants, begin = constants(); break;
      case Region::input: buffer = SampleBuffer(int(SampleBuffer::input) + place.offset), begin = data; break;
      default: break;
    }
    a.buffer[int(buffer)] = there - (data - begin);
  }
}
// Finds the columns of the batch among the operands. They go there once in a step. False if one is missing. Throws
// ValueError for an index that is out of range, which the host looks for.
[[gnu::noinline]] TENON_INLINE bool Executor::inputs_there(Resolved& r) {
  const auto column_of = [&](int k) {
    const BufferPlace place = program_->place_of(*r.instruction, k);
    return place.region == Region::input ? int(place.offset) : -1;
  };
  for (int k = 0; k < r.instruction->buffers; ++k)
    if (const int column = column_of(k); column >= 0 && !(r.arguments.buffer[k] = input(column))) return false;
  if (r.looks) {
    const IndexRange* const range = r.instruction->kernel->indices;
    if (column_of(range->operand + 1) < 0) submit_there();  // the network computes them: the host waits for that
    look_at_indices(r);
  }
  for (int k = 0; k < r.instruction->buffers; ++k)
    if (const int column = column_of(k); column >= 0)
      if (const long bytes = bytes_of(r, k))
        r.arguments.buffer[k] = there_.batch.bring(column, r.arguments.buffer[k], bytes);
  return true;
}

}  // namespace tenon
#endif
