// The kernel of every ops::MomentUpdate, the update of a parameter and its moments.
#pragma once
#include <tenon/backend/cpu/optimizer/update.hpp>
#include <tenon/graph/ir/kernel.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI {

/// An operator that changes a parameter and its moments by the `apply` of its loop.
template <class Op>
requires requires { requires tenon::detail::is_set(Op::updates_moments); }
struct Kernel<Cpu, Op> {
  static constexpr KernelFacts facts{.half_gradient = true};
  static constexpr bool linear_work = true;
  template <class Call>
  static constexpr long items(long n) {
    return Call::result.count(n);
  }
  template <class Call>
  static void run(const Arguments& a, long begin, long end) {
    (*kernel<Call>())(a, begin, end);
  }
  template <class Call>
  static constexpr auto kernel() {
    return &update_range<typename Call::Result, typename Call::template Operand<1>, Call::operands - 3, Call::config()>;
  }

 private:
  template <class T, class G, int moments, auto config>
  static void update_range(const Arguments& a, long begin, long end) {
    T* changed[1 + moments]{a.changed<T>(0) + begin};
    for (int k = 1; k <= moments; ++k) changed[k] = a.changed<T>(k + 1) + begin;
    tenon::kernel::UpdateLoop<Op>::template apply<T, config>(
        a.operand<float>(2 + moments), end - begin, tenon::kernel::GradientAt<G>{a.operand<G>(1) + begin}, changed);
  }
};

}  // namespace tenon
TENON_EXACT_END
