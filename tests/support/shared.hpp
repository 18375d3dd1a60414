// The folder with reference files that other frameworks wrote; tests without it pass, but not silently and not in CI.
#pragma once
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>

#include <doctest/doctest.h>

#include "skip.hpp"

namespace support {

/// $TENON_SHARED, or "" if it is not set.
inline std::string shared_folder() {
  const char* folder = std::getenv("TENON_SHARED");
  return folder ? folder : "";
}

/// True if there is $TENON_SHARED/`path`. If not, says so, and fails the test case where CI=true.
inline bool have_shared(const std::string& path = "golden") {
  if (!shared_folder().empty() && std::filesystem::exists(shared_folder() + "/" + path)) return true;
  const std::string reason = "there is no $TENON_SHARED/" + path + ", nothing was compared with it";
  say_skipped(reason);
  const char* ci = std::getenv("CI");
  if (ci && std::string_view(ci) == "true") FAIL(reason, "; where CI=true it must be there");
  return false;
}

/// The folder of the real MNIST, or "", with the same noise.
inline std::string real_mnist() {
  return have_shared("data/mnist/train-images-idx3-ubyte.gz") ? shared_folder() + "/data/mnist" : "";
}

}  // namespace support
