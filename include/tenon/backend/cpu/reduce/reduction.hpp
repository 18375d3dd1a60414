// The kernel of every ops::Reduction.
#pragma once
#include <tenon/backend/cpu/reduce/reduce.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI {

/// An operator that combines the elements along axes to one.
template <class Op>
requires requires {
  typename Op::Combine;
  Op::template accumulator<float>();
}
struct Kernel<Cpu, Op> {
  template <class Call>
  static constexpr long items(long n) {
    return Call::result.count(n);
  }
  template <class Call>
  static constexpr long cost(long n) {
    return Op::template reduced_count<Call>(n) + 1;
  }
  template <class Call>
  static void run(const Arguments& a, long begin, long end) {
    using R = typename Call::Result;
    using A = decltype(Op::template accumulator<R>());
    using X = typename decltype(Op::template element<R>())::type;
    constexpr unsigned mask = unsigned(Call::config().mask);
    const long count = Op::template reduced_count<Call>(a.n);
    if constexpr (requires { Op::divisor(count); })
      kernel::reduce_call<Call, mask, X>(a, begin, end, A(0), kernel::Plus{}, kernel::DivideBy<R>{Op::divisor(count)});
    else
      kernel::reduce_call<Call, mask, X>(a, begin, end, Op::template start<A>(), typename Op::Combine{},
                                         typename Op::template Finish<R>{count});
  }
};

}  // namespace tenon
TENON_EXACT_END
