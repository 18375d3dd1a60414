// Sum of squares of a gradient in double: the square of its norm.
#pragma once
#include <tenon/backend/cpu/reduce/accumulation_order.hpp>
#include <tenon/graph/ir/kernel.hpp>

namespace tenon::inline TENON_ABI {

namespace ops {
struct SumOfSquares;
struct AddSquares;
}  // namespace ops

TENON_EXACT_BEGIN
namespace kernel {
/// The sum of the squares of `count` elements, in the order of lane_sum.
template <class T>
double sum_of_squares(const T* x, long count) {
  // squares of float32 and smaller types are exact in double
  const auto square = [](auto one) {
    const double own = static_cast<double>(one);
    return own * own;
  };
  return lane_sum<double>(count, square, x);
}
}  // namespace kernel

template <>
struct Kernel<Cpu, ops::SumOfSquares> {
  template <class Call>
  static constexpr KernelWork work(long n) {
    return {1, Call::operand(0).count(n) / 4 + 1, 0};
  }
  template <class Call>
  static void run(const Arguments& a, long, long) {
    *a.result<double>() =
        kernel::sum_of_squares(a.operand<typename Call::template Operand<0>>(0), Call::operand(0).count(a.n));
  }
};
template <>
struct Kernel<Cpu, ops::AddSquares> {
  static constexpr KernelFacts facts{.half_gradient = true};
  template <class Call>
  static constexpr KernelWork work(long n) {
    return {1, Call::operand(1).count(n) / 4 + 1, 0};
  }
  template <class Call>
  static void run(const Arguments& a, long, long) {
    *a.changed<double>(0) +=
        kernel::sum_of_squares(a.operand<typename Call::template Operand<1>>(1), Call::operand(1).count(a.n));
  }
};
TENON_EXACT_END

}  // namespace tenon
