// Base of an optimizer's update of a parameter and one moment.
#pragma once
#include <tenon/kernel/cpu/optimizer/update.hpp>
#include <tenon/ops/elementwise.hpp>

namespace tenon::inline TENON_ABI::ops {

TENON_EXACT_BEGIN
/// One step of an optimizer with one moment, in place. Operands: parameter, gradient, moment, numbers. 16-bit floats
/// compute in float.
/// `Op` gives `apply<T, config>(numbers, count, gradient, changed)`, which updates `count` elements: changed[0] is the
/// parameter, changed[1] the moment.
template <class Op, FixedString Name>
struct MomentUpdate : Operator<Op, Name> {
  static constexpr bool effect = true, update = true, half_gradient = true, linear_work = true;
  static constexpr None derivative{};
  template <class Config>
  static constexpr TensorType shape(const OperandTypes& in, const Config&, Sentence&) {
    return in[0];
  }
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
    T* const changed[]{a.target<T>(0) + begin, a.target<T>(2) + begin};
    Op::template apply<T, config>(a.operand<float>(3), end - begin,
                                  tenon::kernel::GradientAt<G>{a.operand<G>(1) + begin}, changed);
  }
};
TENON_EXACT_END

}  // namespace tenon::ops
