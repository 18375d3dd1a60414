// For benchmarks/cuda/sass_tests.py, which includes it before a test of kernels on the emulator: the first launch of
// each kernel goes to a file in the folder SASS_FOLDER.
#pragma once
#include <cstdlib>
#include <set>
#include <string>

#include "dumped.hpp"

namespace launches {
inline constexpr long most_bytes = 8 << 20, most_threads = 60'000;  // more would take minutes

inline void watch(const emulator::Launch& launch, bool done) {
  static dumped::File file;
  static std::set<std::string> seen;
  if (done && file.is_open()) file.end();
  if (done || !launch.body) return;
  long bytes = 0;
  for (const auto& block : emulator::device_blocks().all()) bytes += long(block.second);
  if (bytes > most_bytes || long(launch.blocks) * launch.threads > most_threads) return;
  if (!seen.insert(launch.body).second) return;
  file.begin(std::string(std::getenv("SASS_FOLDER")) + "/" + std::to_string(seen.size()) + ".bin", launch);
}
inline const bool is_watched = (emulator::watch = watch, true);
}  // namespace launches
