// A range that a random transform draws from.
#pragma once
#include <tenon/core/random/philox.hpp>

namespace tenon::inline TENON_ABI::vision {

/// Numbers from low to high.
struct Between {
  float low = 0, high = 0;
};

namespace detail {
inline float drawn(const Between& range, Random& random) { return random.uniform(range.low, range.high); }
}  // namespace detail

}  // namespace tenon::vision
