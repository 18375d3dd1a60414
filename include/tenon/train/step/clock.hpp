// The clock of training: seconds since some moment, never going back. Of POSIX: <chrono> brings calendars, which take
// a compiler 0.1 s to read.
#pragma once
#include <tenon/core/config.hpp>
#if TENON_DEFINES
#include <time.h>
#endif

namespace tenon::inline TENON_ABI::detail {

double now();

#if TENON_DEFINES
[[gnu::noinline]] TENON_INLINE double now() {
  timespec time{};
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}
#endif  // TENON_DEFINES

}  // namespace tenon::detail
