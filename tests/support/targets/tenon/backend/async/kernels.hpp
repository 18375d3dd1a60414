// The kernels of the CPU, without facts: each computes one operator, in row-major order.
#pragma once
#include <tenon/backend/cpu/kernels.hpp>
#include <tenon/graph/ir/kernel.hpp>

namespace tenon::inline TENON_ABI {

template <class Op>
struct Kernel<Async, Op> {
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
