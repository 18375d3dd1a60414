// What set_auto_parallel_context says to a Model with dist::DataParallel.
#pragma once
#include <string>

#include <tenon/core/context/parallel.hpp>
#include <tenon/dist/communicator.hpp>

namespace tenon::inline TENON_ABI::detail {

inline const HasTool has_data_parallel(Tool::data_parallel);

/// Throws ValueError for a mode that there is not, and for a number of ranks, or a rank, that is another one.
[[gnu::cold, gnu::noinline]] inline void check_parallel_context(const dist::Communicator& ranks) {
  const std::string mode = get_auto_parallel_context("parallel_mode");
  if (mode != "stand_alone" && mode != "data_parallel")
    throw_error<ValueError>("DataParallel: the parallel_mode is '", mode,
                            "', and Tenon has 'data_parallel' alone: "
                            "ranks share the batches, not the network.");
  const auto check = [](const char* key, int own) {
    const std::string set = get_auto_parallel_context(key);
    if (set != kept_parallel_keys().table[kept_parallel_keys().table.find("Get auto parallel", key)].usual &&
        set != std::to_string(own))
      throw_error<ValueError>("DataParallel: set_auto_parallel_context has set ", key, " to ", set, ", and it is ", own,
                              " here: leave it out, dist::init knows it.");
  };
  check("device_num", ranks.size());
  check("global_rank", ranks.rank());
}
/// Whether the ranks begin with the weights of rank 0.
[[gnu::cold]] inline bool broadcasts_parameters() { return get_auto_parallel_context("parameter_broadcast") == "True"; }

}  // namespace tenon::detail
