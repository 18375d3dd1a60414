// Kernels of the CPU for a target of a test: each computes one operator, in row-major order.
#pragma once
#include <tenon/backend/cpu/kernels.hpp>
#include <tenon/graph/ir/kernel.hpp>

namespace support {

/// Has none of the CPU's facts: no epilogue, no other layout, nothing in place.
template <class Op>
struct PlainKernel {
  template <class Call>
  static constexpr tenon::KernelWork work(long n) {
    return tenon::kernel_work<Call, tenon::Cpu>(n);
  }
  template <class Call>
  static void run(const tenon::Arguments& arguments, long begin, long end) {
    tenon::Kernel<tenon::Cpu, Op>::template run<Call>(arguments, begin, end);
  }
};

}  // namespace support
