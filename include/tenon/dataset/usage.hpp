// Which part of a data set is meant.
#pragma once
#include <tenon/core/config.hpp>

namespace tenon::inline TENON_ABI::dataset {

enum class Usage { train, test };

}  // namespace tenon::dataset
