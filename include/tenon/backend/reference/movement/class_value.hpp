// One element of each row by its class number, and the gradient.
#pragma once
#include <tenon/backend/reference/index.hpp>

namespace tenon::inline TENON_ABI {

namespace ops {
struct ClassValue;
struct ClassValueGrad;
}  // namespace ops

template <>
struct Kernel<Reference, ops::ClassValue> : kernel::reference::Whole {
  template <class Call>
  static void run(const Arguments& a, long, long) {
    const long classes = Call::operand(0).last();
    for (long row = 0; row < Call::result.count(a.n); ++row) {
      const long label = static_cast<long>(a.operand<typename Call::template Operand<1>>(1)[row]);
      a.result<typename Call::Result>()[row] = a.operand<typename Call::Result>(0)[row * classes + label];
    }
  }
};

template <>
struct Kernel<Reference, ops::ClassValueGrad> : kernel::reference::Whole {
  template <class Call>
  static void run(const Arguments& a, long, long) {
    using T = typename Call::Result;
    const long classes = Call::config().classes;
    for (long i = 0; i < Call::result.count(a.n); ++i) {
      const long label = static_cast<long>(a.operand<typename Call::template Operand<0>>(0)[i / classes]);
      a.result<T>()[i] = label == i % classes ? a.operand<T>(1)[i / classes] : T{};
    }
  }
};

}  // namespace tenon
