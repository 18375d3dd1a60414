// The default seed of stages.
#pragma once
#include <cstdint>
#include <optional>

#include <tenon/core/config.hpp>
#if TENON_DEFINES
#include <tenon/core/context.hpp>
#endif

namespace tenon::inline TENON_ABI::dataset {

/// The seed of a stage that is created without one: that of set_seed, or else that of the context. So one
/// `set_context({.seed = 1})` reaches initial values, dropout, and the order of the data.
std::uint64_t default_seed();
/// Sets the default seed of stages that are created from now on, instead of the context's; existing stages keep theirs.
/// std::nullopt restores the context's seed.
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
