// The seed of all stages that are given none.
#pragma once
#include <atomic>
#include <cstdint>

#include <tenon/core/config.hpp>

namespace tenon::inline TENON_ABI::dataset {

namespace detail {
inline std::atomic<std::uint64_t>& process_seed() {
  static std::atomic<std::uint64_t> seed{0};
  return seed;
}
}  // namespace detail

/// The seed that a stage takes when it is written without one; 0 until set_seed is called.
inline std::uint64_t default_seed() { return detail::process_seed(); }
/// Sets the seed for the stages that are written from here on; those that exist keep theirs.
inline void set_seed(std::uint64_t seed) { detail::process_seed() = seed; }

}  // namespace tenon::dataset
