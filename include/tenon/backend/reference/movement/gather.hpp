// Rows by number: Gather looks them up, GatherGrad adds them up, OneHot makes them.
#pragma once
#include <vector>

#include <tenon/backend/reference/index.hpp>
#include <tenon/backend/reference/rounded.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI {

namespace ops {
struct Gather;
struct GatherGrad;
struct OneHot;
}  // namespace ops

template <>
struct Kernel<Reference, ops::Gather> : kernel::reference::Whole {
  template <class Call>
  static void run(const Arguments& a, long, long) {
    using T = typename Call::Result;
    const long rows = Call::operand(0)[0], length = Call::operand(0).count(a.n) / rows;
    for (long i = 0; i < Call::result.count(a.n); ++i) {
      long row = static_cast<long>(a.operand<typename Call::template Operand<1>>(1)[i / length]);
      if (row < 0) row += rows;  // counts from the end; there are none outside of the table
      a.result<T>()[i] = a.operand<T>(0)[row * length + i % length];
    }
  }
};

template <>
struct Kernel<Reference, ops::GatherGrad> : kernel::reference::Whole {
  template <class Call>
  static void run(const Arguments& a, long, long) {
    using T = typename Call::Result;
    using A = std::conditional_t<is_floating(dtype_of<T>), double, std::uint64_t>;
    const long rows = Call::result[0], length = Call::result.count(a.n) / rows;
    std::vector<A> sum(std::size_t(rows * length));
    for (long i = 0; i < Call::operand(1).count(a.n); ++i) {
      long row = static_cast<long>(a.operand<typename Call::template Operand<0>>(0)[i / length]);
      if (row < 0) row += rows;
      sum[std::size_t(row * length + i % length)] += static_cast<A>(a.operand<T>(1)[i]);
    }
    for (std::size_t i = 0; i < sum.size(); ++i)
      if constexpr (is_floating(dtype_of<T>)) a.result<T>()[i] = kernel::reference::rounded<T>(sum[i]);
      else a.result<T>()[i] = static_cast<T>(sum[i]);
  }
};

template <>
struct Kernel<Reference, ops::OneHot> : kernel::reference::Whole {
  template <class Call>
  static void run(const Arguments& a, long, long) {
    using T = typename Call::Result;
    constexpr auto c = Call::config();
    for (long i = 0; i < Call::result.count(a.n); ++i) {
      const bool here = static_cast<long>(a.operand<typename Call::template Operand<0>>(0)[i / c.depth]) == i % c.depth;
      a.result<T>()[i] = static_cast<T>(here ? c.on : c.off);
    }
  }
};

}  // namespace tenon
TENON_EXACT_END
