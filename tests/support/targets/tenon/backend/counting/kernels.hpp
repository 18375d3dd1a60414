// Counting has the kernels of Reference, or, in a program that defines TENON_TEST_CPU_KERNELS, those of the CPU, with
// which a large network takes seconds.
#pragma once
#include <tenon/backend/reference/kernels.hpp>
#if defined(TENON_TEST_CPU_KERNELS)
#include <tenon/backend/cpu/kernels.hpp>
#include <tenon/graph/ir/kernel.hpp>

namespace tenon::inline TENON_ABI {

/// Without facts: each computes one operator, in row-major order.
template <class Op>
struct Kernel<Counting, Op> {
  template <class Call>
  static constexpr KernelWork work(long n) {
    return kernel_work<Call, Cpu>(n);
  }
  template <class Call>
  static void run(const Arguments& arguments, long begin, long end) {
    Kernel<Cpu, Op>::template run<Call>(arguments, begin, end);
  }
};

}  // namespace tenon
#endif
