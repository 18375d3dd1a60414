// What a target with several queues declares beside the members that all targets have.
#pragma once
#include <atomic>
#include <concepts>
#include <cstddef>

#include <tenon/core/memory/row_gather.hpp>
#include <tenon/core/target.hpp>

namespace tenon::inline TENON_ABI {

/// A target that copies beside its kernels: copy_beside() puts a copy from the host into a separate queue, which waits
/// for an event and records another one. The steps of such a target wait for events and record them, too:
///
///     auto step = Target::begin(...);
///     step.wait_for(event);                  kernels after this run when the event is complete
///     step.record(event);                    complete when the kernels before this have run
///
/// An event is complete if nothing has recorded it yet. A wait counts what was recorded before it was called. Queues
/// keep what they need of an event that is freed.
template <class Target>
concept CopiesBeside = requires(std::byte* to, const std::byte* from, std::size_t bytes, TargetEvent event) {
  { Target::make_event() } -> std::same_as<TargetEvent>;
  Target::free_event(event);
  Target::wait_event(event);                           // the host waits
  Target::copy_beside(to, from, bytes, event, event);  // after, then records; `from` must not change until then
};

/// Host memory from which copies are fast and need no help of the processor, and to which kernels can write, such as
/// pages that stay in place: copy_beside() copies from it, copy_out_later() to it. Without it this is ordinary memory.
template <class Target>
concept HasPinnedMemory = requires(std::byte* block, std::size_t bytes) {
  { Target::allocate_pinned(bytes) } -> std::same_as<std::byte*>;  // throws std::bad_alloc
  Target::free_pinned(block);
};

/// A target whose copy_out_later() sets `done` without a notification, for example by a kernel. On other targets the
/// host waits for the notification.
template <class Target>
concept WaitsUntil = requires(const std::atomic<bool>& done) {
  Target::wait_until(done);  // throws what a kernel has thrown
};

/// Refuses a target that has only some of these members, which would be ignored.
template <class Target>
constexpr void check_optional_members() {
  static_assert(
      CopiesBeside<Target> || !requires { &Target::copy_beside; },
      "a target with copy_beside() needs make_event(), free_event(), and wait_event(), too "
      "(target/queue.hpp)");
  static_assert(
      HasPinnedMemory<Target> || !requires { &Target::allocate_pinned; },
      "a target with allocate_pinned() needs free_pinned(), too (target/queue.hpp)");
  static_assert(
      GathersRows<Target> || !requires { &Target::gather; },
      "a target with gather() needs free_bytes(), too (core/memory/row_gather.hpp)");
  static_assert(
      HasDevices<Target> || !requires { &Target::devices; },
      "a target with devices() needs use_device(), too (core/target.hpp)");
}

}  // namespace tenon
