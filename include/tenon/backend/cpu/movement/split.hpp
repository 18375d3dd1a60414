// One piece of a tensor that is divided along an axis, cut out.
#pragma once
#include <tenon/backend/cpu/movement/slice.hpp>

namespace tenon::inline TENON_ABI {

namespace ops {
struct Split;
}

template <>
struct Kernel<Cpu, ops::Split> : kernel::CopiesStrided<ops::Split> {
  template <class Call>
  static constexpr kernel::Strided copy(long n) {
    return kernel::window_sizes(Call::Op::window(Call::config(), Call::operand(0)), Call::operand(0), Call::result, n)
        .cut();
  }
};

}  // namespace tenon
