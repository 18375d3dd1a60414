// BatchInfo: the information about a batch that a function receives.
#pragma once
#include <cstdint>

#include <tenon/core/config.hpp>

namespace tenon::inline TENON_ABI::dataset {

/// The number of the batch in the epoch, the epoch, and the number of samples; for a function that returns the batch
/// size, the largest allowed number.
struct BatchInfo {
  long batch_num = 0;
  std::uint64_t epoch_num = 0;
  long n = 0;
};

}  // namespace tenon::dataset
