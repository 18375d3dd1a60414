// The walk through a compiled graph.
#include <tenon/run/executor.hpp>

namespace tenon::inline TENON_ABI {
template void Executor::run(const void* const*, long, const NoPolicy&);
}  // namespace tenon
