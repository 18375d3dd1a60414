// The default number of rows that prefetch reads ahead: set_prefetch_size.
#pragma once
#include <tenon/core/error.hpp>
#include <tenon/core/thread/atomic.hpp>
#if TENON_DEFINES
#endif

namespace tenon::inline TENON_ABI::dataset {

/// The default depth of a prefetch: that of set_prefetch_size, else 2.
long default_prefetch_size();
/// Sets the default depth of stages that are created from now on. Throws ValueError outside 1 .. 1024. Source:
/// mindspore.dataset.config, whose number without a call is 16 (its queues stand between all stages, ours at the end).
void set_prefetch_size(long rows);

#if TENON_DEFINES
namespace detail {
inline tenon::detail::Atomic<long>& process_prefetch_size() {
  static tenon::detail::Atomic<long> rows{2};
  return rows;
}
}  // namespace detail

TENON_INLINE long default_prefetch_size() { return detail::process_prefetch_size(); }
TENON_INLINE void set_prefetch_size(long rows) {
  if (rows < 1 || rows > 1024)
    throw_error<ValueError>("set_prefetch_size(", rows, "): legal are 1 .. 1024; 2 is usual.");
  detail::process_prefetch_size() = rows;
}
#endif  // TENON_DEFINES

}  // namespace tenon::dataset
