// BroadcastTo repeats a tensor along axes, SumTo adds up what was repeated.
#pragma once
#include <vector>

#include <tenon/backend/reference/index.hpp>
#include <tenon/backend/reference/rounded.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI {

namespace ops {
struct BroadcastTo;
struct SumTo;
}  // namespace ops

template <>
struct Kernel<Reference, ops::BroadcastTo> : kernel::reference::Whole {
  template <class Call>
  static void run(const Arguments& a, long, long) {
    using T = typename Call::Result;
    for (long i = 0; i < Call::result.count(a.n); ++i) {
      const auto index = kernel::reference::index_of(i, Call::result, a.n);
      a.result<T>()[i] =
          a.operand<T>(0)[kernel::reference::broadcast_place(index, Call::result, Call::operand(0), a.n)];
    }
  }
};

template <>
struct Kernel<Reference, ops::SumTo> : kernel::reference::Whole {
  template <class Call>
  static void run(const Arguments& a, long, long) {
    using T = typename Call::Result;
    using A = std::conditional_t<is_floating(dtype_of<T>), double, std::uint64_t>;
    std::vector<A> sum(std::size_t(Call::result.count(a.n)));
    for (long i = 0; i < Call::operand(0).count(a.n); ++i) {
      const auto index = kernel::reference::index_of(i, Call::operand(0), a.n);
      sum[std::size_t(kernel::reference::broadcast_place(index, Call::operand(0), Call::result, a.n))] +=
          static_cast<A>(a.operand<T>(0)[i]);
    }
    for (std::size_t i = 0; i < sum.size(); ++i)
      if constexpr (is_floating(dtype_of<T>)) a.result<T>()[i] = kernel::reference::rounded<T>(sum[i]);
      else a.result<T>()[i] = static_cast<T>(sum[i]);
  }
};

}  // namespace tenon
TENON_EXACT_END
