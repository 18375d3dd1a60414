// ReverseSequence: step by step.
#pragma once
#include <cstdint>
#include <cstring>

#include <tenon/graph/ir/kernel.hpp>

namespace tenon::inline TENON_ABI {

namespace ops {
struct ReverseSequence;
}

template <>
struct Kernel<Cpu, ops::ReverseSequence> {
  template <class Call>
  static constexpr long items(long n) {
    return Call::result.size(0, n);
  }
  template <class Call>
  static void run(const Arguments& a, long begin, long end) {
    using T = typename Call::Result;
    constexpr long steps = Call::result[1], size = Call::result.span(2, Call::result.rank);
    for (long sample = begin; sample < end; ++sample) {
      const long length = a.operand<std::int32_t>(1)[sample];
      for (long step = 0; step < steps; ++step)
        std::memcpy(a.result<T>() + (sample * steps + step) * size,
                    a.operand<T>(0) + (sample * steps + Call::Op::from(step, length, steps)) * size,
                    std::size_t(size) * sizeof(T));
    }
  }
};

}  // namespace tenon
