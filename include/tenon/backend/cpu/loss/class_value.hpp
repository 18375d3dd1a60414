// One element of each row by its class number, and the gradient.
#pragma once
#include <cstring>

#include <tenon/graph/ir/kernel.hpp>

namespace tenon::inline TENON_ABI {

namespace ops {
struct ClassValue;
struct ClassValueGrad;
}  // namespace ops

// Class numbers are looked at before: none is outside.

template <>
struct Kernel<Cpu, ops::ClassValue> {
  template <class Call>
  static constexpr long items(long n) {
    return Call::result.count(n);
  }
  template <class Call>
  static void run(const Arguments& a, long begin, long end) {
    using T = typename Call::Result;
    constexpr long classes = Call::operand(0).last();
    const auto* const label = a.operand<typename Call::template Operand<1>>(1);
    for (long row = begin; row < end; ++row)
      a.result<T>()[row] = a.operand<T>(0)[row * classes + static_cast<long>(label[row])];
  }
};

template <>
struct Kernel<Cpu, ops::ClassValueGrad> {
  template <class Call>
  static constexpr long items(long n) {
    return Call::operand(1).count(n);
  }
  template <class Call>
  static constexpr long cost(long) {
    return Call::config().classes;
  }
  template <class Call>
  static void run(const Arguments& a, long begin, long end) {
    using T = typename Call::Result;
    constexpr long classes = Call::config().classes, bytes = classes * long(sizeof(T)),
                   block = bytes < 8192 ? 8192 / bytes : 1;  // rows that stay in the cache until they are complete
    const auto* const label = a.operand<typename Call::template Operand<0>>(0);
    for (long first = begin; first < end; first += block) {
      const long last = first + block < end ? first + block : end;
      std::memset(static_cast<void*>(a.result<T>() + first * classes), 0, std::size_t((last - first) * bytes));
      for (long row = first; row < last; ++row)
        a.result<T>()[row * classes + static_cast<long>(label[row])] = a.operand<T>(1)[row];
    }
  }
};

}  // namespace tenon
