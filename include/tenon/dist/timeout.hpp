// The check of a timeout among the options of dist::init and dist::init_parameter_server.
#pragma once
#include <tenon/core/error.hpp>

namespace tenon::inline TENON_ABI::dist::detail {

/// Throws ValueError for a number of seconds that is below 0, or NaN. `who` has it among its options.
void check_timeout(const char* who, double seconds);

#if TENON_DEFINES
[[gnu::cold, gnu::noinline]] TENON_INLINE void check_timeout(const char* who, double seconds) {
  if (!(seconds >= 0)) throw_error<ValueError>(who, ": timeout_seconds must be 0 or more, got ", seconds, ".");
}
#endif  // TENON_DEFINES

}  // namespace tenon::dist::detail
