// Counting has the kernels of Reference, or, in a program that defines TENON_TEST_CPU_KERNELS, those of the CPU, with
// which a large network takes seconds.
#pragma once
#include <tenon/backend/reference/kernels.hpp>
#if defined(TENON_TEST_CPU_KERNELS)
#include "../../../plain_kernel.hpp"

namespace tenon::inline TENON_ABI {
template <class Op>
struct Kernel<Counting, Op> : support::PlainKernel<Op> {};
}  // namespace tenon
#endif
