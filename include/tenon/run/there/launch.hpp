// How kernels of other targets than the CPU are started: with all that they read brought there.
#pragma once
#include <span>
#include <string_view>

#include <tenon/core/context.hpp>
#include <tenon/core/memory/storage.hpp>
#include <tenon/graph/ir/kernel_entry.hpp>
#if defined(TENON_TARGET)
#include <tenon/run/refuse_scratch.hpp>
#include <tenon/run/there/batch.hpp>
#endif

namespace tenon::inline TENON_ABI {

namespace detail {
/// Before the CPU computes with them, whole blocks.
inline void bring_home([[maybe_unused]] const Arguments& arguments) {
  if constexpr (several_targets)
    for (void* const data : arguments.buffer) home(static_cast<std::byte*>(data));
}
}  // namespace detail

namespace detail {
/// Waits until all work of this thread's target is done: an observer measures an operation, not its place in a queue.
inline void wait_there() {
#if defined(TENON_TARGET)
  if (computes_there())
    with_target(TargetScope::current(), []<class Target>(std::type_identity<Target>) { Target::wait(); });
#endif
}
}  // namespace detail

#if defined(TENON_TARGET)
namespace detail {
/// The kernel of the same call on the target of this thread. Throws RuntimeError if that target has none.
inline const KernelEntry& kernel_there(std::string_view op, const KernelEntry* kernel) {
  const TargetId target = TargetScope::current();
  if (const KernelEntry* const found = kernel->elsewhere.on[target_index(target)]) return *found;
  const std::string_view name =
      with_target(target, []<class Target>(std::type_identity<Target>) { return Target::name; });
  throw_error<RuntimeError>(op, " has no kernel on ", name, ": write Kernel<tenon::", name,
                            ", ...> for it (target/kernel.hpp), or set device_target to CPU.");
}

/// What a call of the second target needs to know of a buffer: how many bytes it has. Buffers that are none of its
/// blocks (numbers in the program, rows of a data set in PyNative mode) are copied there for the call.
using BufferBytes = long[max_buffers];

/// A kernel call as a target gets it, with addresses in its memory. Steps of one graph and one batch size have the same
/// calls, byte by byte, as long as the executor's memory stays: a target can record them once and replay them.
struct Launch {
  void (*run)(const Arguments&, long begin, long end) = nullptr;
  Arguments arguments;
  long items = 0;
  const std::int32_t* unless = nullptr;  // the call is left out if this number is other than 0
  std::string_view name{};               // of the operator
  long node = -1;                        // in the program of the step
  const SampleGroup* samples = nullptr;  // the call is that of this group
  long workspace = 0;                    // bytes at arguments.workspace
  long read_bytes = 0;                   // of a call that is no node, but sets a flag, buffer 0: at the others

  void operator()() const {
    if (!unless || *unless == 0) run(arguments, 0, items);
  }
};
/// What the calls are a part of: a graph on a batch of n, or, without a program, a call of PyNative mode.
struct TargetStep {
  using Launch = detail::Launch;
  const Program* program = nullptr;
  long n = 1;
  Math math = get_context().math;

  /// "Conv2d in network.conv1 float32 [n,6,28,28] (net.cpp:12)", for errors and profilers of the target; in PyNative
  /// mode the operator alone.
  std::string text(const Launch& launch) const;

  /// Calls f(const void* address, long bytes, bool written) for all memory of the target that a call of the program
  /// uses: calls that do not write what the other one uses may run side by side.
  template <class F>
  void each_access(const Launch& launch, F f) const;
};
/// The only way to start kernels there: all copies that the calls need are in the queue before them, or are those of
/// `batch`, for which they wait. `ends`: they are the last ones of the step. Without launches what comes after them
/// waits: the host may look at a column, or send it to other ranks.
inline void submit(TargetId target, const TargetStep& step, std::span<const Launch> launches,
                   BatchThere* batch = nullptr, bool ends = true) {
  const TargetEvent read = batch && ends ? batch->read() : nullptr;
  if (launches.empty() && !read && !(batch && batch->awaits())) return;
  with_target(target, [&]<class Target>(std::type_identity<Target>) {
    check_optional_members<Target>();
    auto begun = Target::begin(step);
    if constexpr (CopiesBeside<Target>)
      if (batch) batch->each_awaited([&](TargetEvent copied) { begun.wait_for(copied); });
    for (const Launch& launch : launches) begun.launch(launch);
    if constexpr (CopiesBeside<Target>)
      if (read) begun.record(read);
    begun.commit();
  });
}

/// A call of an operator. After the result and the operands, `operands` of them, stand further results. `effect`: it
/// changes its operands, but not the last of several. `flag`, if given, keeps the call back.
struct CallThere {
  TargetId target{};
  std::string_view name;
  const KernelEntry& kernel;
  bool effect = false;
  int operands = 0;
  std::byte* flag = nullptr;
  long node = -1;

  /// Without elements in the result there is nothing to do.
  bool is_empty(const BufferBytes& bytes) const { return !effect && bytes[0] == 0; }
};
/// Whether a call writes its buffer k: a result, or what its effect changes.
constexpr bool writes_buffer(bool effect, int operands, int k) {
  return k == 0 || k > operands || (effect && (k == 1 || k < operands));
}
/// Copies what the host has written of its operands, and says where everything is. `copy`: memory for buffers that are
/// no blocks of the target's memory, and for a workspace; null if there are none.
[[gnu::noinline]] inline Launch prepare_launch(const CallThere& call, const Arguments& named, const BufferBytes& bytes,
                                               Storage* copy = nullptr) {
  TargetMemory& memory = TargetMemory::instance();
  using Use = TargetMemory::Use;
  Launch launch;
  launch.run = call.kernel.run, launch.name = call.name, launch.node = call.node;
  launch.arguments.n = named.n, launch.arguments.immediate = named.immediate;
  for (int k = 0; k < max_buffers; ++k) {
    auto* const data = static_cast<std::byte*>(named.buffer[k]);
    if (!data) continue;
    const bool written = writes_buffer(call.effect, call.operands, k);
    const Use use = !written ? Use::read : call.effect ? Use::change : Use::overwrite;
    const std::size_t size = std::size_t(bytes[k]);
    void*& buffer = launch.arguments.buffer[k];
    buffer = memory.there(call.target, data, use, size);
    if (buffer || !copy) continue;
    copy[k] = Storage(size);
    std::memcpy(copy[k].data(), data, size);
    buffer = memory.there(call.target, copy[k].address(), use, size);
  }
  const KernelWork work = call.kernel.work(named.n);
  launch.items = work.items, launch.workspace = work.workspace;
  if (work.workspace) {
    std::byte* room = named.workspace;
    if (!room) room = (copy[max_buffers] = Storage(std::size_t(work.workspace))).address();
    launch.arguments.workspace = memory.there(call.target, room, Use::overwrite, std::size_t(work.workspace));
  }
  if (call.flag) {
    const std::byte* const flag = memory.there(call.target, call.flag, Use::read, sizeof(std::int32_t));
    launch.unless = reinterpret_cast<const std::int32_t*>(flag);
  }
  return launch;
}
/// A call of PyNative mode, which is a step of its own.
[[gnu::noinline]] inline void launch_there(const CallThere& call, const Arguments& named, const BufferBytes& bytes) {
  if (call.is_empty(bytes)) return;
  Storage copy[max_buffers + 1];
  const Launch launch = prepare_launch(call, named, bytes, copy);
  submit(call.target, {}, {&launch, 1});
  if (constexpr int changed = Arguments::operand_at(0); call.effect && copy[changed])
    std::memcpy(named.buffer[changed], copy[changed].data(), std::size_t(bytes[changed]));
}

template <class F>
void TargetStep::each_access(const Launch& launch, F f) const {
  const Instruction* instruction = program->instruction;
  while (instruction->node != launch.node) ++instruction;
  const auto look = [&](auto address_of) {
    const Node& node = program->node[instruction->node];
    for (int k = 0; k < instruction->buffers; ++k)
      if (const void* const buffer = address_of(k))
        f(buffer, program->type_of(*instruction, k).bytes(n), writes_buffer(node.op->effect, node.operands, k));
  };
  if (launch.read_bytes) {
    f(launch.arguments.buffer[0], long(sizeof(std::int32_t)), true);
    for (const void* const buffer : {launch.arguments.buffer[1], launch.arguments.buffer[2]})
      if (buffer) f(buffer, launch.read_bytes, false);
  } else if (launch.samples)
    for (const Instruction* const end = program->instruction + launch.samples->end; instruction != end; ++instruction)
      look([&](int k) { return sample_address(launch.arguments, program->place_of(*instruction, k), program->floor); });
  else look([&](int k) { return launch.arguments.buffer[k]; });
  // all workspaces of a program are one
  if (launch.arguments.workspace) f(launch.arguments.workspace, 1L, true);
  if (launch.unless) f(launch.unless, long(sizeof *launch.unless), false);
}

#if TENON_DEFINES
[[gnu::cold]] TENON_INLINE std::string TargetStep::text(const Launch& launch) const {
  if (!program) return std::string(launch.name);
  const std::string first = node_text("", *program, program->node[launch.node]);
  return launch.samples ? first + " and what follows it, sample by sample" : first;
}
#endif
}  // namespace detail
#endif

}  // namespace tenon
