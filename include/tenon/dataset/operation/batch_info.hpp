// BatchInfo: what a function of a batch is told of it.
#pragma once
#include <cstdint>

#include <tenon/core/config.hpp>

namespace tenon::inline TENON_ABI::dataset {

/// Which batch it is: its number in the epoch, the epoch, and its number of samples; the most that it may have, where
/// this number is asked for.
struct BatchInfo {
  long batch_num = 0;
  std::uint64_t epoch_num = 0;
  long n = 0;
};

}  // namespace tenon::dataset
