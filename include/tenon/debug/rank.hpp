// rank_of_environment: the number of this process in its job, for the folders of tools.
#pragma once
#include <cstdlib>
#include <initializer_list>
#include <string_view>

#include <tenon/core/abi.hpp>

namespace tenon::inline TENON_ABI::debug {

/// The number of a process, and what the environment had in its place.
struct EnvironmentRank {
  std::string_view number = "0";  // at most 9 digits
  std::string_view refused{};     // what is no such number; else empty
};

/// RANK_ID, or OMPI_COMM_WORLD_RANK if RANK_ID is not set or empty; 0 without both, and for a value that is no number.
///
/// source      MindSpore, which reads both for its logs
inline EnvironmentRank rank_of_environment() {
  for (const char* const variable : {"RANK_ID", "OMPI_COMM_WORLD_RANK"}) {
    const char* const value = std::getenv(variable);
    if (!value || !*value) continue;
    const std::string_view rank = value;
    if (rank.size() <= 9 && rank.find_first_not_of("0123456789") == rank.npos) return {rank};
    return {"0", rank};
  }
  return {};
}

}  // namespace tenon::debug
