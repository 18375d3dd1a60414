// One-hot vectors: rows of one value, with another at the place that a number says.
#pragma once
#include <tenon/graph/ir/kernel.hpp>

namespace tenon::inline TENON_ABI {

namespace ops {
struct OneHot;
}

template <>
struct Kernel<Cpu, ops::OneHot> {
  template <class Call>
  static constexpr long items(long n) {
    return Call::operand(0).count(n);
  }
  template <class Call>
  static void run(const Arguments& a, long begin, long end) {
    using T = typename Call::Result;
    constexpr auto c = Call::config();
    for (long i = begin; i < end; ++i) {
      const long number = long(a.operand<typename Call::template Operand<0>>(0)[i]);
      T* const row = a.result<T>() + i * c.depth;
      for (int k = 0; k < c.depth; ++k) row[k] = static_cast<T>(c.off);
      if (number >= 0 && number < c.depth) row[number] = static_cast<T>(c.on);
    }
  }
};

}  // namespace tenon
