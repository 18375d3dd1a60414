// The elements at the places of maxima, one by one.
#pragma once
#include <tenon/backend/reference/index.hpp>

namespace tenon::inline TENON_ABI {

namespace ops {
struct MaxPool2dTaken;
}

template <>
struct Kernel<Reference, ops::MaxPool2dTaken> : kernel::reference::Whole {
  template <class Call>
  static void run(const Arguments& a, long, long) {
    using T = typename Call::Result;
    constexpr auto c = Call::config();
    for (long k = 0; k < Call::result.count(a.n); ++k) {
      kernel::reference::Index at = kernel::reference::index_of(k, Call::result, a.n);
      const long place = long(a.operand<typename Call::template Operand<0>>(0)[k]);
      at[2] = at[2] * c.stride_h - c.top + place / c.kw;
      at[3] = at[3] * c.stride_w - c.left + place % c.kw;
      a.result<T>()[k] = a.operand<T>(1)[kernel::reference::place(at, Call::operand(1), a.n)];
    }
  }
};

}  // namespace tenon
