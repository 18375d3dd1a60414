// How kernels of the second target are started: with all that they read brought there.
#pragma once
#include <tenon/core/context.hpp>
#include <tenon/core/memory/storage.hpp>
#include <tenon/graph/kernel_entry.hpp>

namespace tenon::inline TENON_ABI {

namespace detail {
/// Before the CPU computes with them.
inline void bring_home([[maybe_unused]] const Arguments& arguments) {
  if constexpr (several_targets)
    for (void* const data : arguments.buffer) home(static_cast<std::byte*>(data));
}
}  // namespace detail

#if defined(TENON_TARGET)
namespace detail {
/// The kernel that stands there for one of the CPU.
inline const KernelEntry& kernel_there(std::string_view op, const KernelEntry* kernel) {
  if (!kernel->elsewhere)
    throw_error<RuntimeError>(op, " has no kernel on ", OtherTarget::name, ": write Kernel<tenon::", OtherTarget::name,
                              ", ...> for it (target/kernel.hpp), or set "
                              "device_target to CPU.");
  return *kernel->elsewhere;
}

/// What a call of the second target needs to know of a buffer: how many bytes it has. Buffers that are none of its
/// blocks (numbers in the program, rows of a data set) are copied there for the call.
using BufferBytes = long[max_operands + 1];

/// Queues a kernel of the second target after what was queued before. `effect`: it changes its operands, the first one
/// and, among blocks of memory, any other. After the operands, `operands` of them, stand further results. Without
/// elements in the result there is nothing to do.
[[gnu::noinline]] inline void launch_there(const KernelEntry& kernel, const Arguments& named, const BufferBytes& bytes,
                                           bool effect, int operands) {
  if (!effect && bytes[0] == 0) return;
  TargetMemory& memory = TargetMemory::instance();
  using Use = TargetMemory::Use;
  Arguments there = named;
  Storage copy[max_operands + 2];
  for (int k = 0; k <= max_operands; ++k) {
    auto* const data = static_cast<std::byte*>(named.buffer[k]);
    if (!data) continue;
    const bool result = k == 0 || k > operands;
    there.buffer[k] = memory.there(data, effect ? Use::change : result ? Use::overwrite : Use::read);
    if (there.buffer[k]) continue;
    copy[k] = Storage(std::size_t(bytes[k]));
    std::memcpy(copy[k].data(), data, std::size_t(bytes[k]));
    there.buffer[k] = memory.there(copy[k].address(), effect ? Use::change : Use::read);
  }
  const KernelWork work = kernel.work(named.n);
  if (work.workspace) {
    copy[max_operands + 1] = Storage(std::size_t(work.workspace));
    there.workspace = memory.there(copy[max_operands + 1].address(), Use::overwrite);
  }
  OtherTarget::enqueue([run = kernel.run, there, items = work.items] { run(there, 0, items); });
  if (effect && copy[1]) std::memcpy(named.buffer[1], copy[1].data(), std::size_t(bytes[1]));
}
}  // namespace detail
#endif

}  // namespace tenon
