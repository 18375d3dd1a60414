// The number of this process among those of a distributed program.
#pragma once
#include <tenon/core/config.hpp>

namespace tenon::inline TENON_ABI::detail {

/// 0 unless dist::init says otherwise: what is written once for all processes is written by this one.
inline constinit int process_rank = 0;

}  // namespace tenon::detail
