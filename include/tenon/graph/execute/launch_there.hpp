// How kernels of the second target are started: with all that they read brought there.
#pragma once
#include <tenon/core/context.hpp>
#include <tenon/core/memory/storage.hpp>
#include <tenon/graph/kernel_entry.hpp>

namespace tenon::inline TENON_ABI {

namespace detail {
/// Before the CPU computes with them, whole blocks.
inline void bring_home([[maybe_unused]] const Arguments& arguments) {
  if constexpr (several_targets)
    for (void* const data : arguments.buffer) home(static_cast<std::byte*>(data));
}
}  // namespace detail

#if defined(TENON_TARGET)
namespace detail {
/// The kernel that stands for one of the CPU on the target on which this thread computes.
inline const KernelEntry& kernel_there(std::string_view op, const KernelEntry* kernel) {
  const TargetId target = TargetScope::current();
  if (const KernelEntry* const found = kernel->elsewhere.on[int(target)]) return *found;
  const std::string_view name =
      with_target(target, []<class Target>(std::type_identity<Target>) { return Target::name; });
  throw_error<RuntimeError>(op, " has no kernel on ", name, ": write Kernel<tenon::", name,
                            ", ...> for it (target/kernel.hpp), or set device_target to CPU.");
}

/// What a call of the second target needs to know of a buffer: how many bytes it has. Buffers that are none of its
/// blocks (numbers in the program, rows of a data set in PyNative mode) are copied there for the call.
using BufferBytes = long[max_operands + 1];

/// A kernel call as the second target gets it, all addresses in its memory. It has the same bytes in each step.
struct Launch {
  void (*run)(const Arguments&, long begin, long end) = nullptr;
  Arguments arguments;
  long items = 0;
  const std::int32_t* unless = nullptr;  // the call is left out if this number is other than 0

  void operator()() const {
    if (!unless || *unless == 0) run(arguments, 0, items);
  }
};

/// Queues a kernel of `target` after what was queued there before. After the result and the operands, `operands` of
/// them, stand further results. `effect`: it changes its operands, but not the last of several. Without elements in the
/// result there is nothing to do. `flag`, if given, keeps the call back.
[[gnu::noinline]] inline void launch_there(TargetId target, const KernelEntry& kernel, const Arguments& named,
                                           const BufferBytes& bytes, bool effect, int operands,
                                           std::byte* flag = nullptr) {
  if (!effect && bytes[0] == 0) return;
  TargetMemory& memory = TargetMemory::instance();
  using Use = TargetMemory::Use;
  Launch launch;
  launch.run = kernel.run;
  launch.arguments.n = named.n;
  launch.arguments.immediate = named.immediate;
  Storage copy[max_operands + 2];
  for (int k = 0; k <= max_operands; ++k) {
    auto* const data = static_cast<std::byte*>(named.buffer[k]);
    if (!data) continue;
    const bool result = k == 0 || k > operands, changed = effect && (result || k == 1 || k < operands);
    const Use use = changed ? Use::change : result ? Use::overwrite : Use::read;
    const std::size_t size = std::size_t(bytes[k]);
    void*& buffer = launch.arguments.buffer[k];
    buffer = memory.there(target, data, use, size);
    if (buffer) continue;
    copy[k] = Storage(size);
    std::memcpy(copy[k].data(), data, size);
    buffer = memory.there(target, copy[k].address(), use, size);
  }
  const KernelWork work = kernel.work(named.n);
  launch.items = work.items;
  if (work.workspace) {
    std::byte* room = named.workspace;
    if (!room) copy[max_operands + 1] = Storage(std::size_t(work.workspace)), room = copy[max_operands + 1].address();
    launch.arguments.workspace = memory.there(target, room, Use::overwrite, std::size_t(work.workspace));
  }
  if (flag)
    launch.unless = reinterpret_cast<const std::int32_t*>(memory.there(target, flag, Use::read, sizeof(std::int32_t)));
  with_target(target, [&]<class Target>(std::type_identity<Target>) { Target::enqueue(launch); });
  if (effect && copy[1]) std::memcpy(named.buffer[1], copy[1].data(), std::size_t(bytes[1]));
}
}  // namespace detail
#endif

}  // namespace tenon
