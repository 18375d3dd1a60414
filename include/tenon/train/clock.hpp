// The clock of training: seconds since some moment, never going back. Of POSIX: <chrono> brings calendars, which take
// a compiler 0.1 s to read.
#pragma once
#include <time.h>

#include <tenon/core/config.hpp>

namespace tenon::inline TENON_ABI::detail {

[[gnu::noinline]] inline double now() {
  timespec time{};
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

}  // namespace tenon::detail
