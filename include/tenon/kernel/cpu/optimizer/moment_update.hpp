// The kernel of every ops::MomentUpdate, the update of a parameter and one moment.
#pragma once
#include <tenon/kernel/cpu/optimizer/update.hpp>
#include <tenon/kernel/kernel.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI {

/// An operator that changes a parameter and one moment by its `apply`.
template <class Op>
requires requires { requires Op::one_moment; }
struct Kernel<Cpu, Op> {
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
    return &update_range<typename Call::Result, typename Call::template Operand<1>, Call::config()>;
  }

 private:
  template <class T, class G, auto config>
  static void update_range(const Arguments& a, long begin, long end) {
    T* const changed[]{a.changed<T>(0) + begin, a.changed<T>(2) + begin};
    Op::template apply<T, config>(a.operand<float>(3), end - begin,
                                  tenon::kernel::GradientAt<G>{a.operand<G>(1) + begin}, changed);
  }
};

}  // namespace tenon
TENON_EXACT_END
