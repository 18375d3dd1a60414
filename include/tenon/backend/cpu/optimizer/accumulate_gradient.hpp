// AccumulateGradient: a gradient is added to those of the batches before.
#pragma once
#include <cstdint>

#include <tenon/graph/ir/kernel.hpp>

namespace tenon::inline TENON_ABI {

namespace ops {
struct AccumulateGradient;
}

TENON_EXACT_BEGIN
template <>
struct Kernel<Cpu, ops::AccumulateGradient> {
  static constexpr KernelFacts facts{.half_gradient = true};
  static constexpr bool linear_work = true;
  template <class Call>
  static constexpr long items(long) {
    return Call::operand(0).count(1);
  }
  template <class Call>
  static constexpr long cost(long) {
    return 1;
  }
  template <class Call>
  static void run(const Arguments& a, long begin, long end) {
    using Sum = typename Call::template Operand<0>;
    Sum* const sum = a.changed<Sum>(0);
    const auto* const gradient = a.operand<typename Call::template Operand<1>>(1);
    // a choice outside of the loop: 0 times a NaN of the update before would stay
    if (*a.operand<std::int32_t>(2))
      for (long i = begin; i < end; ++i) sum[i] = static_cast<Sum>(gradient[i]);
    else
      for (long i = begin; i < end; ++i) sum[i] += static_cast<Sum>(gradient[i]);
  }
};
TENON_EXACT_END

}  // namespace tenon
