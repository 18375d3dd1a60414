// Async has the kernels of the CPU.
#pragma once
#include "../../../plain_kernel.hpp"

namespace tenon::inline TENON_ABI {
template <class Op>
struct Kernel<Async, Op> : support::PlainKernel<Op> {};
}  // namespace tenon
