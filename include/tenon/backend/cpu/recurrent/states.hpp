// Parts of the states that a time loop leaves, and states one step earlier.
#pragma once
#include <tenon/backend/cpu/gemm/pack.hpp>
#include <tenon/graph/ir/kernel.hpp>

namespace tenon::inline TENON_ABI {

namespace ops {
struct RecurrentPrevious;
}

namespace kernel {
/// Copies part `part` of all steps of the samples begin .. end - 1.
template <class T>
inline void copy_states(const T* states, long steps, long width, long hidden, long part, T* to, long begin, long end) {
  kernel::copy_matrix(states + begin * steps * width + part * hidden, width, 1, to + begin * steps * hidden, hidden,
                      (end - begin) * steps, hidden, 0);
}
}  // namespace kernel

template <>
struct Kernel<Cpu, ops::RecurrentPrevious> {
  template <class Call>
  static constexpr long items(long n) {
    return Call::result.size(0, n);
  }
  template <class Call>
  static void run(const Arguments& a, long begin, long end) {
    using T = typename Call::Result;
    constexpr long steps = Call::result[1], hidden = Call::result[2], width = Call::operand(0)[2];
    constexpr auto c = Call::config();
    for (long sample = begin; sample < end; ++sample) {
      const T* const states = a.operand<T>(0) + sample * steps * width + c.part * hidden + (c.reverse ? width : 0);
      T* const to = a.result<T>() + sample * steps * hidden;
      kernel::copy_matrix(states, width, 1, to + (c.reverse ? 0 : hidden), hidden, steps - 1, hidden, 0);
      T* const first = to + (c.reverse ? (steps - 1) * hidden : 0);
      if constexpr (Call::operands > 1)
        kernel::copy_row(a.operand<T>(1) + sample * Call::operand(1)[1] * hidden, first, hidden);
      else kernel::clear(first, hidden);
    }
  }
};

}  // namespace tenon
