// What set_auto_parallel_context says to a Model with dist::DataParallel.
#pragma once
#include <tenon/core/context.hpp>
#include <tenon/core/context/parallel.hpp>
#include <tenon/dist/world.hpp>
#include <tenon/train/shards/divided_state.hpp>
#if TENON_DEFINES
#include <cstdlib>
#endif

namespace tenon::inline TENON_ABI::detail {

#if !defined(TENON_COMPILED_PART)  // which many programs have that do not include this
inline const HasTool has_data_parallel(Tool::data_parallel);
#endif

/// Throws ValueError for a mode that there is not, and for a number of ranks, or a rank, that is another one.
[[gnu::cold]] void check_parallel_context(const dist::Communicator& ranks);
/// Whether the ranks begin with the weights of rank 0.
[[gnu::cold]] bool broadcasts_parameters();
/// How the ranks divide the moments, or null: as DataParallel has `asked`, or if the context says so, and if there are
/// others. Throws ValueError on another target than the CPU, RuntimeError if the program has no code for it.
[[gnu::cold]] DivideState division_here(DivideState asked, const dist::Communicator& ranks);
/// The code for what the context says; a program of headers alone has it if it calls the function below.
inline constinit DivideState context_division = nullptr;

#if TENON_DEFINES
[[gnu::noinline]] TENON_INLINE void check_parallel_context(const dist::Communicator& ranks) {
  if (!changed_parallel_key) return;
  const std::string* const set_mode = changed_parallel_key("parallel_mode");
  const std::string_view mode = set_mode ? *set_mode : std::string_view();
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
    if (const std::string* const set = changed_parallel_key(key); set && std::atoi(set->c_str()) != own)
      throw_error<ValueError>("DataParallel: set_auto_parallel_context has set ", key, " to ", *set, ", and it is ",
                              own, " here: leave it out, dist::init knows it.");
  };
  // In hybrid mode those of the program: the group has the ranks with one slice.
  const dist::Communicator all = hybrid && dist::is_initialized() ? dist::communicator() : ranks;
  check("device_num", all.size());
  check("global_rank", all.rank());
}
[[gnu::noinline]] TENON_INLINE bool broadcasts_parameters() {
  return changed_parallel_key && changed_parallel_key("parameter_broadcast");
}
[[gnu::noinline]] TENON_INLINE DivideState division_here(DivideState asked, const dist::Communicator& ranks) {
  if (!asked && !(changed_parallel_key && changed_parallel_key("enable_parallel_optimizer"))) return nullptr;
  if (get_context().target() != TargetId::cpu)
    throw_error<ValueError>("DataParallel: ", asked ? "parallel_optimizer" : "enable_parallel_optimizer",
                            " divides the memory of CPUs, and the device_target is ", get_context().device_target,
                            ": leave it out.");
  if (ranks.size() == 1) return nullptr;
#if defined(TENON_COMPILED_PART)
  return divide_state;
#else
  if (!asked && !context_division)
    throw_error<RuntimeError>("DataParallel: set_auto_parallel_context has set enable_parallel_optimizer in a source "
                              "file without <tenon/dist.hpp>, or by a key that is no literal, so that this program has "
                              "no code for it: write dist::DataParallel{.parallel_optimizer = true}.");
  return asked ? asked : context_division;
#endif
}
#endif  // TENON_DEFINES

}  // namespace tenon::detail

namespace tenon::inline TENON_ABI {
/// The same where DataParallel is known: enable_parallel_optimizer needs code that other programs do without.
inline void set_auto_parallel_context(const char* key, const std::string& value) {
  detail::context_division = detail::divide_state;
  set_auto_parallel_context(std::string(key), value);
}
}  // namespace tenon
