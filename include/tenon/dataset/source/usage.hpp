// The parts of a data set: train and test.
#pragma once
#include <tenon/core/config.hpp>

namespace tenon::inline TENON_ABI::dataset {

enum class Usage { train, test };

}  // namespace tenon::dataset
