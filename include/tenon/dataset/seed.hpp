// The seed of all stages that are given none.
#pragma once
#include <cstdint>
#include <optional>

#include <tenon/core/config.hpp>
#if TENON_DEFINES
#include <tenon/core/context.hpp>
#endif

namespace tenon::inline TENON_ABI::dataset {

/// The seed that a stage takes when it is written without one: set_seed's, or the context's if there is none. So one
/// `set_context({.seed = 1})` reaches initial values, dropout, and the order of the data.
std::uint64_t default_seed();
/// Sets the seed for the stages that are written from here on, whatever the context's seed; those that exist keep
/// theirs. std::nullopt takes it back.
void set_seed(std::optional<std::uint64_t> seed);

#if TENON_DEFINES
namespace detail {
inline std::optional<std::uint64_t>& process_seed() {
  static std::optional<std::uint64_t> seed;
  return seed;
}
}  // namespace detail

TENON_INLINE std::uint64_t default_seed() { return detail::process_seed().value_or(get_context().seed); }
TENON_INLINE void set_seed(std::optional<std::uint64_t> seed) { detail::process_seed() = seed; }
#endif  // TENON_DEFINES

}  // namespace tenon::dataset
