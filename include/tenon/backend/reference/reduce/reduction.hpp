// Reductions: the elements of each result one after the other, sums in double.
#pragma once
#include <vector>

#include <tenon/backend/reference/index.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI {

/// Every ops::Reduction. A sum of floating-point numbers is rounded once, at its end.
template <class Op>
requires requires {
  typename Op::Combine;
  Op::template accumulator<float>();
}
struct Kernel<Reference, Op> : kernel::reference::Whole {
  template <class Call>
  static void run(const Arguments& a, long, long) {
    using R = typename Call::Result;
    using X = typename decltype(Op::template element<R>())::type;
    const long count = Op::template reduced_count<Call>(a.n);
    constexpr bool is_sum = requires { Op::divisor(count); };
    using A = std::conditional_t<is_sum && is_floating(dtype_of<R>), double, decltype(Op::template accumulator<R>())>;
    const TensorType kept = Op::kept(Call::operand(0), Call::config());
    A start{};
    if constexpr (!is_sum) start = Op::template start<A>();
    struct Total {  // a vector of bool would be one of bits
      A value;
    };
    std::vector<Total> total(std::size_t(Call::result.count(a.n)), Total{start});
    for (long i = 0; i < Call::operand(0).count(a.n); ++i) {
      const auto index = kernel::reference::index_of(i, Call::operand(0), a.n);
      A& sum = total[std::size_t(kernel::reference::broadcast_place(index, Call::operand(0), kept, a.n))].value;
      const A x = static_cast<A>(a.operand<X>(0)[i]);
      if constexpr (is_sum) sum += x;
      else sum = Op::combine(sum, x);
    }
    for (std::size_t i = 0; i < total.size(); ++i)
      if constexpr (is_sum) a.result<R>()[i] = static_cast<R>(total[i].value / static_cast<A>(Op::divisor(count)));
      else a.result<R>()[i] = static_cast<R>(Op::finish(total[i].value, count));
  }
};

}  // namespace tenon
TENON_EXACT_END
