// How a test says that it could not test something.
#pragma once
#include <cstdio>
#include <string>

namespace support {

/// Prints `SKIPPED: reason` as a line on stdout. cmake/test.sh repeats such lines at its end, so nothing is skipped in
/// silence.
inline void say_skipped(const std::string& reason) {
  std::printf("\nSKIPPED: %s\n", reason.c_str());
  std::fflush(stdout);
}

}  // namespace support
