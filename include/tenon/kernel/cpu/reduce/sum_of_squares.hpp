// Sum of squares of a gradient in double: the square of its norm.
#pragma once
#include <tenon/kernel/cpu/reduce/accumulation_order.hpp>
#include <tenon/kernel/kernel.hpp>

namespace tenon::inline TENON_ABI {

namespace ops {
struct SumOfSquares;
}

TENON_EXACT_BEGIN
template <>
struct Kernel<Cpu, ops::SumOfSquares> {
  template <class Call>
  static constexpr KernelWork work(long n) {
    return {1, Call::operand(0).count(n) / 4 + 1, 0};
  }
  template <class Call>
  static void run(const Arguments& a, long, long) {
    using T = typename Call::template Operand<0>;
    // squares of float32 and smaller types are exact in double
    const auto square = [](auto x) {
      const double own = static_cast<double>(x);
      return own * own;
    };
    *a.result<double>() = kernel::lane_sum<double>(Call::operand(0).count(a.n), square, a.operand<T>(0));
  }
};
TENON_EXACT_END

}  // namespace tenon
