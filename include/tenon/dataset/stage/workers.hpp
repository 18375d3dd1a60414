// The default number of threads that read rows for a stage: set_num_parallel_workers.
#pragma once
#include <tenon/core/error.hpp>
#include <tenon/core/thread/atomic.hpp>
#if TENON_DEFINES
#endif

namespace tenon::inline TENON_ABI::dataset {

/// The default number of threads of a stage: that of set_num_parallel_workers, else 1.
int default_workers();
/// Sets the default for stages that are created from now on; existing stages keep theirs. Throws ValueError outside 1
/// .. 256. Source: mindspore.dataset.config, whose number is 4 without a call and at most that of the processors.
void set_num_parallel_workers(int workers);

namespace detail {
/// Throws ValueError unless 1 <= workers <= 256.
void check_workers(const char* asked, int workers);
}  // namespace detail

#if TENON_DEFINES
namespace detail {
inline tenon::detail::Atomic<int>& process_workers() {
  static tenon::detail::Atomic<int> workers{1};
  return workers;
}
TENON_INLINE void check_workers(const char* asked, int workers) {
  if (workers < 1 || workers > 256)
    throw_error<ValueError>(asked, ": num_parallel_workers is ", workers,
                            ", legal are 1 .. 256; as many as there are "
                            "processors is usual at most.");
}
}  // namespace detail

TENON_INLINE int default_workers() { return detail::process_workers(); }
TENON_INLINE void set_num_parallel_workers(int workers) {
  detail::check_workers("set_num_parallel_workers", workers);
  detail::process_workers() = workers;
}
#endif  // TENON_DEFINES

}  // namespace tenon::dataset
