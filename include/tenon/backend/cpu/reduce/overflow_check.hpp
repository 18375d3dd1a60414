// Overflow check of gradients: a flag is set where an element is infinite or NaN.
#pragma once

#include <tenon/backend/cpu/reduce/all_finite.hpp>
#include <tenon/core/thread/atomic.hpp>
#include <tenon/graph/ir/kernel.hpp>

namespace tenon::inline TENON_ABI {

namespace ops {
struct OverflowCheck;
}

template <>
struct Kernel<Cpu, ops::OverflowCheck> {
  static constexpr KernelFacts facts{.half_gradient = true};
  static constexpr bool linear_work = true;
  template <class Call>
  static constexpr long items(long) {
    return Call::operand(1).count(1);
  }
  template <class Call>
  static constexpr long cost(long) {
    return 1;
  }
  template <class Call>
  static void run(const Arguments& a, long begin, long end) {
    // Threads share the flag, and all that set it write the same.
    if (!kernel::all_finite(a.operand<typename Call::template Operand<1>>(1) + begin, end - begin))
      detail::AtomicRef<std::int32_t>(*a.changed<std::int32_t>(0)).store(1, detail::MemoryOrder::relaxed);
  }
};

}  // namespace tenon
