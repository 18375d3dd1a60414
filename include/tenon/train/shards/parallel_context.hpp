// What set_auto_parallel_context says to a Model with dist::DataParallel.
#pragma once
#include <tenon/core/context.hpp>
#include <tenon/core/context/parallel.hpp>
#include <tenon/dist/world.hpp>
#if TENON_DEFINES
#include <string>
#endif

namespace tenon::inline TENON_ABI::detail {

#if !defined(TENON_COMPILED_PART)  // which many programs have that do not include this
inline const HasTool has_data_parallel(Tool::data_parallel);
#endif

/// Throws ValueError for a mode that there is not, and for a number of ranks, or a rank, that is another one.
[[gnu::cold]] void check_parallel_context(const dist::Communicator& ranks);
/// Whether the ranks begin with the weights of rank 0.
[[gnu::cold]] bool broadcasts_parameters();
/// Whether each rank has the moments of some parameters alone: if DataParallel or the context says so, and there are
/// others. Throws ValueError on another target than the CPU.
[[gnu::cold]] bool divides_optimizer(bool asked, const dist::Communicator& ranks);

#if TENON_DEFINES
[[gnu::noinline]] TENON_INLINE void check_parallel_context(const dist::Communicator& ranks) {
  const std::string mode = get_auto_parallel_context("parallel_mode");
  const bool hybrid = mode == "hybrid_parallel";
  if (mode == "semi_auto_parallel")
    throw_error<ValueError>("DataParallel: in the parallel_mode 'semi_auto_parallel' operators have strategies; here "
                            "the cells of the network are the strategy, nn::ColumnParallelDense for a Dense with its "
                            "outputs in slices, nn::RowParallelDense with its inputs, nn::VocabParallelEmbedding for "
                            "the rows of a table: use them, and set 'hybrid_parallel'.");
  if (mode == "auto_parallel")
    throw_error<ValueError>("DataParallel: the parallel_mode 'auto_parallel' searches for a strategy, which Tenon does "
                            "not: take nn::ColumnParallelDense, nn::RowParallelDense, and nn::VocabParallelEmbedding "
                            "for the layers that shall be in slices, and set 'hybrid_parallel'.");
  const auto check = [](const char* key, int own) {
    const std::string set = get_auto_parallel_context(key);
    if (set != kept_parallel_keys().table[kept_parallel_keys().table.find("Get auto parallel", key)].usual &&
        set != std::to_string(own))
      throw_error<ValueError>("DataParallel: set_auto_parallel_context has set ", key, " to ", set, ", and it is ", own,
                              " here: leave it out, dist::init knows it.");
  };
  // In hybrid mode those of the program: the group has the ranks with one slice.
  const dist::Communicator all = hybrid && dist::is_initialized() ? dist::communicator() : ranks;
  check("device_num", all.size());
  check("global_rank", all.rank());
}
[[gnu::noinline]] TENON_INLINE bool broadcasts_parameters() {
  return get_auto_parallel_context("parameter_broadcast") == "True";
}
[[gnu::noinline]] TENON_INLINE bool divides_optimizer(bool asked, const dist::Communicator& ranks) {
  if (!asked && get_auto_parallel_context("enable_parallel_optimizer") != "True") return false;
  if (get_context().target() != TargetId::cpu)
    throw_error<ValueError>("DataParallel: ", asked ? "parallel_optimizer" : "enable_parallel_optimizer",
                            " divides the memory of CPUs, and the device_target is ", get_context().device_target,
                            ": leave it out.");
  return ranks.size() > 1;
}
#endif  // TENON_DEFINES

}  // namespace tenon::detail
