// Transposition, a copy in another order of the axes.
#pragma once
#include <tenon/backend/cpu/movement/strided.hpp>

namespace tenon::inline TENON_ABI {

namespace ops {
struct Transpose;
}

template <>
struct Kernel<Cpu, ops::Transpose> : kernel::CopiesStrided<ops::Transpose> {
  template <class Call>
  static constexpr kernel::Strided copy(long n) {
    constexpr TensorType x = Call::operand(0);
    int order[max_rank]{};
    Call::Op::positive(Call::config(), x.rank, order);
    long stride[max_rank]{}, next = 1;
    for (int axis = x.rank - 1; axis >= 0; --axis) stride[axis] = next, next *= x.size(axis, n);
    kernel::Strided s;
    for (int k = 0; k < x.rank; ++k) s.add(x.size(order[k], n), stride[order[k]]);
    return s;
  }
};

}  // namespace tenon
