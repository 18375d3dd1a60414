// Tensors one after another along an axis: row by row, from one operand after the other.
#pragma once
#include <tenon/backend/cpu/movement/strided.hpp>
#include <tenon/graph/ir/kernel.hpp>

namespace tenon::inline TENON_ABI {

namespace ops {
struct Concat;
}

template <>
struct Kernel<Cpu, ops::Concat> {
  // Elements of operand k after one index of the axes before the joined one.
  template <class Call>
  static constexpr long run_length(int k, long n) {
    long length = 1;
    for (int axis = normalized_axis(Call::config().axis, Call::result.rank); axis < Call::result.rank; ++axis)
      length *= Call::operand(k).size(axis, n);
    return length;
  }
  template <class Call>
  static constexpr long items(long n) {
    long rows = 1;
    for (int axis = 0; axis < normalized_axis(Call::config().axis, Call::result.rank); ++axis)
      rows *= Call::result.size(axis, n);
    return rows;
  }
  template <class Call>
  static void run(const Arguments& a, long begin, long end) {
    using T = kernel::Moved<typename Call::Result>;
    long length[Call::operands], total = 0;
    for (int k = 0; k < Call::operands; ++k) total += length[k] = run_length<Call>(k, a.n);
    for (long row = begin; row < end; ++row) {
      T* to = a.result<T>() + row * total;
      for (int k = 0; k < Call::operands; to += length[k++])
        __builtin_memcpy(to, a.operand<T>(k) + row * length[k], std::size_t(length[k]) * sizeof(T));
    }
  }
};

}  // namespace tenon
