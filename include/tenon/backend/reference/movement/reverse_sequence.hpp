// ReverseSequence: each element from its step.
#pragma once
#include <cstdint>

#include <tenon/backend/reference/index.hpp>

namespace tenon::inline TENON_ABI {

namespace ops {
struct ReverseSequence;
}

template <>
struct Kernel<Reference, ops::ReverseSequence> : kernel::reference::Whole {
  template <class Call>
  static void run(const Arguments& a, long, long) {
    using T = typename Call::Result;
    for (long i = 0; i < Call::result.count(a.n); ++i) {
      auto index = kernel::reference::index_of(i, Call::result, a.n);
      index[1] = Call::Op::from(index[1], a.operand<std::int32_t>(1)[index[0]], Call::result[1]);
      a.result<T>()[i] = a.operand<T>(0)[kernel::reference::place(index, Call::result, a.n)];
    }
  }
};

}  // namespace tenon
