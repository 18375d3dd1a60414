// Targets: where kernels run, and in whose memory.
#pragma once
#include <cstddef>
#include <string_view>
#include <type_traits>

#include <tenon/core/config.hpp>

namespace tenon::inline TENON_ABI {
/// What work of a target can wait for (target/queue.hpp). The target alone knows what it points to.
using TargetEvent = void*;
}  // namespace tenon

// A program computes on the CPU. -DTENON_TARGET=reference gives it a second target, whose folder is backend/reference/;
// -DTENON_TARGET=reference,mine gives it two more, and so on up to four. device_target chooses at run time. The names
// stand in TENON_ABI: units with other targets share no code. Without the flag nothing of this costs an instruction.
#if defined(TENON_TARGET)
#define TENON_TARGET_IN(folder) <tenon/backend/folder/target.hpp>
#define TENON_TARGET_OF(folder) TENON_TARGET_IN(folder)
// each defines kernel::<folder>::Target, see there what one has
#include TENON_TARGET_OF(TENON_TARGET_1)
#if TENON_TARGETS > 1
#include TENON_TARGET_OF(TENON_TARGET_2)
#endif
#if TENON_TARGETS > 2
#include TENON_TARGET_OF(TENON_TARGET_3)
#endif
#if TENON_TARGETS > 3
#include TENON_TARGET_OF(TENON_TARGET_4)
#endif
#endif

namespace tenon::inline TENON_ABI {

/// The processor that runs the program: vectors, threads, and layouts that fit its caches.
struct Cpu {
  static constexpr std::string_view name = "CPU";
};

template <class... Targets>
struct TargetList {
  static constexpr int count = int(sizeof...(Targets));
};

/// The targets of the program beside the CPU.
#if !defined(TENON_TARGET)
using OtherTargets = TargetList<>;
#elif TENON_TARGETS == 1
using OtherTargets = TargetList<kernel::TENON_TARGET_1::Target>;
#elif TENON_TARGETS == 2
using OtherTargets = TargetList<kernel::TENON_TARGET_1::Target, kernel::TENON_TARGET_2::Target>;
#elif TENON_TARGETS == 3
using OtherTargets =
    TargetList<kernel::TENON_TARGET_1::Target, kernel::TENON_TARGET_2::Target, kernel::TENON_TARGET_3::Target>;
#else
using OtherTargets = TargetList<kernel::TENON_TARGET_1::Target, kernel::TENON_TARGET_2::Target,
                                kernel::TENON_TARGET_3::Target, kernel::TENON_TARGET_4::Target>;
#endif
inline constexpr bool several_targets = OtherTargets::count > 0;

/// Which target, as a number: the CPU, or the place in OtherTargets, counted from 1; and which of its devices.
enum class TargetId : unsigned short { cpu };
inline constexpr int targets_per_device = 8;
constexpr int target_index(TargetId target) { return int(target) % targets_per_device; }
constexpr int device_of(TargetId target) { return int(target) / targets_per_device; }
constexpr TargetId on_device(TargetId target, int device) {
  return TargetId(target_index(target) + targets_per_device * device);
}

/// A target with several devices, each with its memory and its queues. A thread uses the one that it has last named.
template <class Target>
concept HasDevices = requires(int device) {
  device = Target::devices();  // how many this machine has
  Target::use_device(device);
};
/// A target that copies within its memory, after the work that is in its queue.
template <class Target>
concept CopiesWithin =
    requires(std::byte* to, const std::byte* from, std::size_t bytes) { Target::copy_within(to, from, bytes); };
namespace detail {
/// For how many calls memory that is free again is left alone. Where calls run side by side, one that took it at once
/// would have to wait for all who have read what was there.
template <class Target>
constexpr int memory_rests() {
  if constexpr (requires { Target::memory_rests; }) return Target::memory_rests;
  else return 0;
}

template <class Target, class... Others>
constexpr int target_number(TargetList<Others...>) {
  int number = 0;
  [[maybe_unused]] int place = 0;
  (static_cast<void>((++place, number = std::is_same_v<Target, Others> ? place : number)), ...);
  return number;
}
template <class... Others>
constexpr TargetId find_target([[maybe_unused]] std::string_view name, TargetList<Others...>) {
  TargetId found = TargetId::cpu;
  [[maybe_unused]] int place = 0;
  (static_cast<void>((++place, found = name == Others::name ? TargetId(place) : found)), ...);
  return found;
}
Cpu first_target(TargetList<>);
template <class First, class... Rest>
First first_target(TargetList<First, Rest...>);
template <class First, class... Rest, class F>
constexpr decltype(auto) with_target_of(TargetList<First, Rest...>, int number, F f) {
  if constexpr (sizeof...(Rest) > 0)
    if (number > 1) return with_target_of(TargetList<Rest...>(), number - 1, f);
  return f(std::type_identity<First>());
}
}  // namespace detail
template <class Target>
inline constexpr TargetId target_id = TargetId(detail::target_number<Target>(OtherTargets()));

/// The target of that name; the CPU, if no other has it.
constexpr TargetId target_named(std::string_view name) { return detail::find_target(name, OtherTargets()); }

/// The first target beside the CPU; the CPU, if there is none.
using OtherTarget = decltype(detail::first_target(OtherTargets()));

/// Calls f(std::type_identity<Target>()) for the target of that number, which is not the CPU, on its device.
template <class F>
constexpr decltype(auto) with_target(TargetId target, F f) {
  return detail::with_target_of(OtherTargets(), target_index(target),
                                [&]<class Target>(std::type_identity<Target> found) -> decltype(auto) {
                                  if constexpr (HasDevices<Target>)
                                    if (!std::is_constant_evaluated()) Target::use_device(device_of(target));
                                  return f(found);
                                });
}
#if defined(TENON_TARGET)
/// The same for what is given back, also by destructors. A device that cannot be used any more, after an error of a
/// kernel, keeps it; the next call of the target says so.
template <class F>
void give_back_to(TargetId target, F f) noexcept {
  try {
    with_target(target, f);
  } catch (...) {
  }
}
#endif
/// How many devices it has.
inline int device_count([[maybe_unused]] TargetId target) {
#if defined(TENON_TARGET)
  if (target != TargetId::cpu)
    return with_target(target, []<class Target>(std::type_identity<Target>) {
      if constexpr (HasDevices<Target>) return Target::devices();
      else return 1;
    });
#endif
  return 1;
}

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
