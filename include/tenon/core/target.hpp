// Targets: where kernels run, and in whose memory.
#pragma once
#include <cstddef>
#include <string_view>
#include <type_traits>

#include <tenon/core/config.hpp>

// A program computes on the CPU. With -DTENON_TARGET=reference it has a second target, whose folder is
// kernel/reference/: device_target chooses between the two at run time. The name stands in TENON_ABI, for units with
// and without it share no code. Without it nothing of what follows costs an instruction.
#if defined(TENON_TARGET)
#define TENON_TARGET_IN(folder) <tenon/kernel/folder/target.hpp>
#define TENON_TARGET_OF(folder) TENON_TARGET_IN(folder)
// defines kernel::<folder>::Target, see there what one has
#include TENON_TARGET_OF(TENON_TARGET)
#endif

namespace tenon::inline TENON_ABI {

/// The processor that runs the program: vectors, threads, and layouts that fit its caches.
struct Cpu {
  static constexpr std::string_view name = "CPU";
};

#if defined(TENON_TARGET)
inline constexpr bool several_targets = true;
using OtherTarget = kernel::TENON_TARGET::Target;
#else
inline constexpr bool several_targets = false;
using OtherTarget = Cpu;
#endif

/// Which target, as a number: programs of both stand side by side.
enum class TargetId : unsigned char { cpu, other };
template <class Target>
inline constexpr TargetId target_id = TargetId{several_targets && !std::is_same_v<Target, Cpu>};

namespace detail {

/// What the host does with elements: overwriting, it does not ask for what they were.
enum class Look : char { change, read, overwrite };

/// The place where the host looks at what kernels have made: brings `bytes` from `data` on back, if a target has them
/// (0: the whole block of memory around `data`), and waits for what still computes there. Whoever reads or writes
/// elements on the host gets their address from here. What was brought back to be read is not to be written.
#if defined(TENON_TARGET)
std::byte* home(std::byte* data, std::size_t bytes = 0, Look look = Look::change);
#else
inline std::byte* home(std::byte* data, std::size_t = 0, Look = Look::change) { return data; }
#endif
inline const void* home(const void* data, std::size_t bytes = 0) {
  return home(static_cast<std::byte*>(const_cast<void*>(data)), bytes, bytes ? Look::read : Look::change);
}

}  // namespace detail
}  // namespace tenon
