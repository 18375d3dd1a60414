// The folder with reference files that other frameworks wrote; tests without it pass, but not silently and not in CI.
#pragma once
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include <doctest/doctest.h>

namespace support {

/// $TENON_SHARED, or "" if it is not set.
inline std::string shared_folder() {
  const char* folder = std::getenv("TENON_SHARED");
  return folder ? folder : "";
}

/// True if there are reference files. If not, says so on stderr, and fails the test case where CI=true.
inline bool have_shared() {
  if (!shared_folder().empty()) return true;
  const char* ci = std::getenv("CI");
  std::fprintf(stderr, "\n*** SKIPPED: TENON_SHARED does not name the folder with reference files: nothing was compared ***\n\n");
  if (ci && std::string_view(ci) == "true") FAIL("TENON_SHARED is not set, and in CI (CI=true) reference tests must run");
  return false;
}

}  // namespace support
