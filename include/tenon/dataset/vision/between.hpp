// A range that a random transform draws from.
#pragma once
#include <cmath>

#include <tenon/core/error.hpp>
#include <tenon/core/random/philox.hpp>

namespace tenon::inline TENON_ABI::vision {

/// Numbers from low to high.
struct Between {
  float low = 0, high = 0;
};

namespace detail {
/// Throws ValueError for a range whose ends are not finite.
inline float drawn(const Between& range, Random& random) {
  if (!std::isfinite(range.low) || !std::isfinite(range.high))
    throw_error<ValueError>("A random number cannot be drawn from ", range.low, " .. ", range.high,
                            "; give the range two finite ends.");
  return random.uniform(range.low, range.high);
}
}  // namespace detail

}  // namespace tenon::vision
