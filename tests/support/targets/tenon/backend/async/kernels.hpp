// Async has the kernels of the CPU, and looks at computed indices as Reference does.
#pragma once
#include <tenon/backend/reference/index_checks.hpp>

#include "../../../plain_kernel.hpp"

namespace tenon::inline TENON_ABI {
template <class Op>
struct Kernel<Async, Op> : support::PlainKernel<Op> {};
template <>
struct IndexChecks<Async> : IndexChecks<Reference> {};
}  // namespace tenon
