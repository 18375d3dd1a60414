// The derivative of a mean: dy repeated along the reduced axes, and divided by their number of elements.
#pragma once
#include <tenon/backend/cpu/elementwise/elementwise.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI {

namespace ops {
struct ReduceMeanGrad;
}

template <>
struct Kernel<Cpu, ops::ReduceMeanGrad> {
  template <class Call>
  static constexpr long items(long n) {
    return kernel::RowLayout<Call>::items(n);
  }
  template <class Call>
  static void run(const Arguments& a, long begin, long end) {
    using C = Compute<typename Call::Result>;
    const long elements = Call::result.count(a.n) / Call::operand(0).count(a.n);
    const C count = static_cast<C>(elements);
    kernel::elementwise<Call>(a, begin, end, [count](auto g) { return static_cast<C>(g) / count; });
  }
};

}  // namespace tenon
TENON_EXACT_END
