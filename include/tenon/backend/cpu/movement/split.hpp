// One piece of a tensor that is divided along an axis, cut out.
#pragma once
#include <tenon/backend/cpu/movement/slice.hpp>

namespace tenon::inline TENON_ABI {

namespace ops {
struct Split;
}

template <>
struct Kernel<Cpu, ops::Split> {
  template <class Call>
  static constexpr kernel::Strided copy(long n) {
    return kernel::window_sizes(Call::Op::window(Call::config(), Call::operand(0)), Call::operand(0), Call::result, n)
        .cut();
  }
  template <class Call>
  static constexpr long items(long n) {
    return kernel::strided_items(copy<Call>(n));
  }
  template <class Call>
  static void run(const Arguments& a, long begin, long end) {
    using T = kernel::Moved<typename Call::Result>;
    kernel::strided_copy(copy<Call>(a.n), a.operand<T>(0), a.result<T>(), begin, end);
  }
};

}  // namespace tenon
