// Places among sorted numbers: an item is a value.
#pragma once
#include <tenon/graph/ir/kernel.hpp>

namespace tenon::inline TENON_ABI {

namespace ops {
struct SearchSorted;
}

namespace kernel {
/// The place of value number i of a call, for all targets.
template <class Call>
TENON_DEVICE std::int32_t place_of_value(const Arguments& a, long i) {
  using T = typename Call::template Operand<1>;
  constexpr TensorType sorted = Call::operand(0), values = Call::operand(1);
  constexpr long count = sorted.last(), each = sorted.rank == 1 ? 0 : values.last();
  constexpr bool right = Call::config().right != 0;
  long row = 0;
  if constexpr (each != 0) row = i / each;
  return Call::Op::template place<right>(a.operand<T>(0) + row * count, count, a.operand<T>(1)[i]);
}
}  // namespace kernel

template <>
struct Kernel<Cpu, ops::SearchSorted> {
  template <class Call>
  static constexpr long items(long n) {
    return Call::result.count(n);
  }
  template <class Call>
  static constexpr long cost(long) {
    return 32;
  }
  template <class Call>
  static void run(const Arguments& a, long begin, long end) {
    for (long i = begin; i < end; ++i) a.result<std::int32_t>()[i] = kernel::place_of_value<Call>(a, i);
  }
};

}  // namespace tenon
