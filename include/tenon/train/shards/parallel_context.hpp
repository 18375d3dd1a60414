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

/// What is done for its settings. A program of headers alone has the code if it sets some where DataParallel is known.
struct ParallelContext {
  /// Throws ValueError for a mode that there is not, and for a number of ranks, or a rank, that is another one.
  void (*check)(const dist::Communicator& ranks);
  /// Gives all ranks the bytes of rank 0, if it says so.
  void (*broadcast)(const dist::Communicator& ranks, std::byte* data, std::size_t bytes);
  /// How the ranks divide the moments, or null.
  DivideState (*division)();
};
inline constinit const ParallelContext* context_code = nullptr;
/// Null if the program has set nothing. Throws RuntimeError if it has no code for what it has set.
[[gnu::cold]] const ParallelContext* parallel_context();
/// Null for a single rank, else `divide`. Throws ValueError on another target than the CPU. `key`: who asks for it.
[[gnu::cold]] DivideState checked_division(DivideState divide, const char* key, const dist::Communicator& ranks);

#if TENON_DEFINES
[[gnu::cold, gnu::noinline]] inline void check_parallel_context(const dist::Communicator& ranks) {
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
inline constexpr ParallelContext parallel_context_code{
    check_parallel_context,
    [](const dist::Communicator& ranks, std::byte* data, std::size_t bytes) {
      if (changed_parallel_key && changed_parallel_key("parameter_broadcast"))  // it may have been reset meanwhile
        dist::broadcast(ranks, {home(data, bytes, Look::change), bytes});
    },
    []() -> DivideState { return changed_parallel_key("enable_parallel_optimizer") ? divide_state : nullptr; }};
[[gnu::noinline]] TENON_INLINE const ParallelContext* parallel_context() {
  if (!changed_parallel_key) return nullptr;
#if defined(TENON_COMPILED_PART)
  return &parallel_context_code;
#else
  if (!context_code)
    throw_error<RuntimeError>("DataParallel: set_auto_parallel_context was called in a source file without "
                              "<tenon/dist.hpp>, so that this program has no code for what it says: include it there.");
  return context_code;
#endif
}
[[gnu::noinline]] TENON_INLINE DivideState checked_division(DivideState divide, const char* key,
                                                            const dist::Communicator& ranks) {
  if (get_context().target() != TargetId::cpu)
    throw_error<ValueError>("DataParallel: ", key, " divides the memory of CPUs, and the device_target is ",
                            get_context().device_target, ": leave it out.");
  return ranks.size() == 1 ? nullptr : divide;
}
#endif  // TENON_DEFINES

}  // namespace tenon::detail

namespace tenon::inline TENON_ABI {
/// The same where DataParallel is known, which brings the code for it into a program of headers alone.
inline void set_auto_parallel_context(const char* key, const std::string& value) {
  const detail::HasTool has_data_parallel(detail::Tool::data_parallel);
#if TENON_DEFINES
  detail::context_code = &detail::parallel_context_code;
#endif
  set_auto_parallel_context(std::string_view(key), value);
}
inline void set_auto_parallel_context(const std::string& key, const std::string& value) {
  set_auto_parallel_context(key.c_str(), value);
}
}  // namespace tenon
