// The profiler's clock: the processor's counter where it runs at one speed, which is read in some 10 ns, else the
// system's.
#pragma once
#include <cstdint>
#include <thread>

#include <time.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include <tenon/core/config.hpp>

namespace tenon::inline TENON_ABI::debug {

/// A moment, or a time between two, in ticks of the clock.
using Ticks = std::int64_t;

namespace detail {
inline Ticks nanoseconds(clockid_t clock = CLOCK_MONOTONIC) {
  timespec time{};
  ::clock_gettime(clock, &time);
  return Ticks(time.tv_sec) * 1'000'000'000 + Ticks(time.tv_nsec);
}
/// For which this thread has had a processor.
inline Ticks processor_nanoseconds() { return nanoseconds(CLOCK_THREAD_CPUTIME_ID); }
/// Whether the counter of an x86 processor runs at one speed, also while the processor saves power.
inline bool counter_is_steady() {
#if defined(__x86_64__)
  constexpr unsigned power = 0x80000007, invariant = 1 << 8;
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid(power, &a, &b, &c, &d) && (d & invariant);
#else
  return false;
#endif
}
inline const bool reads_counter = counter_is_steady();
}  // namespace detail

/// Now. Not in the order of the instructions around it, to which a barrier would add more than it is off.
[[gnu::always_inline]] inline Ticks ticks_now() {
#if defined(__x86_64__) && !defined(__CUDACC__)
  if (detail::reads_counter) {
    std::uint32_t low, high;
    asm volatile("rdtsc" : "=a"(low), "=d"(high));
    return Ticks(std::uint64_t(high) << 32 | low);
  }
#elif defined(__aarch64__)
  std::uint64_t count;  // of a counter that always runs at one speed
  asm volatile("mrs %0, cntvct_el0" : "=r"(count));
  return Ticks(count);
#endif
  return detail::nanoseconds();
}

/// Finds the speed of the clock while other things are measured: from two readings beside the system's clock.
class TickRate {
 public:
  TickRate() : ticks_(ticks_now()), nanoseconds_(detail::nanoseconds()) {}
  /// Waits until there is 1 ms between the readings, for four digits.
  double seconds_per_tick() const {
    constexpr Ticks long_enough = 1'000'000;
    Ticks passed = 0;
    while ((passed = detail::nanoseconds() - nanoseconds_) < long_enough) std::this_thread::yield();
    return double(passed) * 1e-9 / double(ticks_now() - ticks_);
  }

 private:
  Ticks ticks_, nanoseconds_;
};

}  // namespace tenon::debug
