// The clock of training: seconds since some moment, never going back.
#pragma once
#include <chrono>

#include <tenon/core/config.hpp>

namespace tenon::inline TENON_ABI::detail {

inline double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

}  // namespace tenon::detail
