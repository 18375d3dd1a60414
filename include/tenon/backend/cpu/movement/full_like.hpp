// Tensors of one number, full_like, and of consecutive ones, arange.
#pragma once
#include <cstring>

#include <tenon/graph/ir/kernel.hpp>

namespace tenon::inline TENON_ABI {

namespace ops {
struct FullLike;
struct Arange;
}  // namespace ops

template <>
struct Kernel<Cpu, ops::FullLike> {
  template <class Call>
  static constexpr long items(long n) {
    return Call::result.count(n);
  }
  template <class Call>
  static void run(const Arguments& a, long begin, long end) {
    using T = typename Call::Result;
    T value;
    std::memcpy(static_cast<void*>(&value), &a.immediate, sizeof(T));
    for (long i = begin; i < end; ++i) a.result<T>()[i] = value;
  }
};

template <>
struct Kernel<Cpu, ops::Arange> {
  template <class Call>
  static constexpr long items(long) {
    return Call::result[0];
  }
  template <class Call>
  static void run(const Arguments& a, long begin, long end) {
    using T = typename Call::Result;
    for (long i = begin; i < end; ++i)
      a.result<T>()[i] = static_cast<T>(Call::config().start + i * Call::config().step);
  }
};

}  // namespace tenon
