// The instructions of a compiled graph as a list of kernel calls, which another target than the CPU gets in one piece.
#pragma once
#include <algorithm>

#include <tenon/run/executor.hpp>

#if TENON_DEFINES && defined(TENON_TARGET)
namespace tenon::inline TENON_ABI {

namespace detail {
/// The functions of a target that looks at indices, as kernels; null if it does not.
struct IndexCalls {
  void (*look)(const Arguments&, long begin, long end) = nullptr;
  void (*join)(const Arguments&, long begin, long end) = nullptr;
};
template <class Checks>
constexpr IndexCalls index_calls_of() {
  if constexpr (std::is_void_v<Checks>) return {};
  else
    return {[](const Arguments& a, long, long) {
              Checks::look(*static_cast<const IndexLook*>(a.host_data()), a.buffer[1], a.n,
                           static_cast<std::int32_t*>(a.buffer[0]));
            },
            [](const Arguments& a, long, long) {
              Checks::join(static_cast<const std::int32_t*>(a.buffer[1]), static_cast<const std::int32_t*>(a.buffer[2]),
                           static_cast<std::int32_t*>(a.buffer[0]));
            }};
}
inline IndexCalls index_calls(TargetId target) {
  return with_target(
      target, []<class Target>(std::type_identity<Target>) { return index_calls_of<FoundIndexChecks<Target>>(); });
}
}  // namespace detail

// A copy of the constants of the program, for kernels that cannot read the program's own.
[[gnu::cold]] TENON_INLINE void Executor::copy_constants() {
  if (there_.constants.address()) return;
  long bytes = 0;
  for (int id = 0; id < program_->nodes; ++id)
    if (program_->place[id].region == Region::constant) bytes = std::max(bytes, program_->place[id].offset + 8);
  there_.constants = TargetBytes(std::size_t(bytes), "the constants of a graph");
  if (bytes) std::memcpy(there_.constants.address(), program_->constant, std::size_t(bytes));
}
// `unseen`: no observer waits for each instruction. A step for which the context asks for a library's products looks at
// indices at once, because no flag keeps those back.
TENON_INLINE void Executor::begin_there(bool unseen) {
  there_.target = detail::TargetScope::current();
  there_.batch.begin(there_.target);
  there_.launches.clear();
  there_.flags_joined = false;
  bool late = false;
  if (unseen && there_.may_look_late && get_context().math == Math::exact && detail::index_calls(there_.target).look)
    for (const Resolved& r : resolved_) late |= r.active && r.looks && is_computed(r);
  if (!late) report_index();
  there_.looks_late = late, there_.n = n_;
  if (!late || there_.flags.address()) return;
  there_.looks.fill(resolved_.size());
  there_.flags = TargetBytes(2 * alignment, "two flags");
  std::memset(there_.flags.address(), 0, 2 * alignment);
}
TENON_INLINE void Executor::submit_there(bool ends) {
  detail::submit(there_.target, {program_, n_}, {there_.launches.begin(), there_.launches.size()}, &there_.batch, ends);
  there_.launches.clear();
}
// Whether the network computes the indices of an instruction: they are no column of the batch.
TENON_INLINE bool Executor::is_computed(const Resolved& r) const {
  return program_->place_of(*r.instruction, r.instruction->kernel->indices->operand + 1).region != Region::input;
}
// A look at the indices of an instruction. One that is out of range keeps back all calls that follow, those of later
// steps, too.
[[gnu::noinline]] TENON_INLINE void Executor::list_look(const Resolved& r) {
  const std::size_t number = std::size_t(&r - resolved_.begin());
  const IndexRange& range = *r.instruction->kernel->indices;
  const Node& node = program_->node[r.instruction->node];
  const TensorType& type = program_->node[node.operand[range.operand]].type;
  IndexLook& look = there_.looks[number];
  // once: calls of an earlier step may still read it
  if (look.number == 0) look = {range.low, range.high, type.dtype == Dtype::int64, std::int32_t(number) + 1};
  detail::TargetMemory& memory = detail::TargetMemory::instance();
  using Use = detail::TargetMemory::Use;
  auto* const indices = static_cast<std::byte*>(r.arguments.buffer[Arguments::operand_at(range.operand)]);
  detail::Launch launch;
  launch.run = detail::index_calls(there_.target).look, launch.name = "a look at indices";
  launch.node = r.instruction->node, launch.items = 1, launch.read_bytes = type.bytes(n_);
  launch.arguments.n = type.count(n_), launch.arguments.immediate = Arguments::immediate_of(&look);
  launch.arguments.buffer[0] = memory.there(there_.target, there_.flags.address(), Use::change, sizeof(std::int32_t));
  launch.arguments.buffer[1] = memory.there(there_.target, indices, Use::read, std::size_t(launch.read_bytes));
  if (launch.arguments.n > 0) there_.launches.push_back(launch);
}
// Joins the flag of indices and that of gradients, for updates that wait for both; returns the flag for them.
[[gnu::noinline]] TENON_INLINE std::byte* Executor::joined_flags() {
  std::byte* const joined = there_.flags.address() + alignment;
  if (std::exchange(there_.flags_joined, true)) return joined;
  detail::TargetMemory& memory = detail::TargetMemory::instance();
  using Use = detail::TargetMemory::Use;
  const auto at = [&](std::byte* flag, Use use) {
    return memory.there(there_.target, flag, use, sizeof(std::int32_t));
  };
  detail::Launch launch;
  launch.run = detail::index_calls(there_.target).join, launch.name = "flags";
  launch.node = program_->instruction->node, launch.items = 1, launch.read_bytes = sizeof(std::int32_t);
  launch.arguments.buffer[0] = at(joined, Use::overwrite);
  launch.arguments.buffer[1] = at(there_.flags.address(), Use::read);
  launch.arguments.buffer[2] = at(base_[int(Region::state)] + overflow_state, Use::read);
  there_.launches.push_back(launch);
  return joined;
}
// The flag that keeps an instruction back; null if nothing does.
TENON_INLINE std::byte* Executor::flag_of(const Resolved& r) {
  if (!r.instruction->guarded) return index_flag();
  return there_.looks_late ? joined_flags() : base_[int(Region::state)] + overflow_state;
}
[[gnu::noinline]] TENON_INLINE void Executor::report_index() {
  if (!there_.flags.address() || !there_.looks_late) return;
  const auto flag = [&](detail::Look look) -> std::int32_t& {
    return *reinterpret_cast<std::int32_t*>(detail::home(there_.flags.address(), sizeof(std::int32_t), look));
  };
  const std::int32_t number = flag(detail::Look::read);
  if (number == 0) return;
  flag(detail::Look::overwrite) = 0;
  n_ = there_.n;
  try {
    look_at_indices(resolved_[std::size_t(number - 1)]);
  } catch (...) {
    n_ = -1;
    throw;
  }
}
// Puts an instruction on the list of the step, or does what the host has to do for it when all before has run.
[[gnu::noinline]] TENON_INLINE void Executor::list_there(Resolved& r) {
  const Node& node = program_->node[r.instruction->node];
  const Arguments& a = r.arguments;
  detail::BufferBytes bytes{};
  for (int k = 0; k < r.instruction->buffers; ++k) bytes[k] = bytes_of(r, k);
  if (node.op->host_effect) {
    submit_there();
    report_index();
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
                               .flag = flag_of(r),
                               .node = r.instruction->node};
  if (call.kernel.meets_ranks) {
    submit_there();
    if (call.is_empty(bytes)) return;
    const detail::Launch launch = detail::prepare_launch(call, a, bytes);
    return detail::submit(there_.target, {nullptr, n_}, {&launch, 1}, nullptr, false);
  }
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
    if (const Resolved& r = resolved_[std::size_t(k)]; r.looks && is_computed(r)) return false;
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
  if (std::byte* const flag = index_flag())
    launch.unless = reinterpret_cast<const std::int32_t*>(detail::TargetMemory::instance().there(
        there_.target, flag, detail::TargetMemory::Use::read, sizeof(std::int32_t)));
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
// ValueError for an index that is out of range, if the host looks for that.
[[gnu::noinline]] TENON_INLINE bool Executor::inputs_there(Resolved& r) {
  const auto column_of = [&](int k) {
    const BufferPlace place = program_->place_of(*r.instruction, k);
    return place.region == Region::input ? int(place.offset) : -1;
  };
  for (int k = 0; k < r.instruction->buffers; ++k)
    if (const int column = column_of(k); column >= 0 && !(r.arguments.buffer[k] = input(column))) return false;
  if (r.looks) {
    if (!is_computed(r)) look_at_indices(r);
    else if (there_.looks_late) list_look(r);
    else submit_there(), look_at_indices(r);  // the host waits for them
  }
  for (int k = 0; k < r.instruction->buffers; ++k)
    if (const int column = column_of(k); column >= 0)
      if (const long bytes = bytes_of(r, k))
        r.arguments.buffer[k] = there_.batch.bring(column, r.arguments.buffer[k], bytes);
  return true;
}

}  // namespace tenon
#endif
