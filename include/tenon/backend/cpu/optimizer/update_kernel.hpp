// The kernel of every update that is defined element by element.
#pragma once
#include <tenon/backend/cpu/optimizer/update.hpp>
#include <tenon/graph/ir/kernel.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI {

/// An operator whose `step` changes operands 0, 2, 3, ... by a gradient, operand 1, and by numbers, the last operand.
template <class Op>
requires requires { requires tenon::detail::is_set(Op::updates_elements); }
struct Kernel<Cpu, Op> {
  static constexpr KernelFacts facts{.half_gradient = true};
  static constexpr bool linear_work = true;
  template <class Call>
  static constexpr long items(long n) {
    return Call::result.count(n);
  }
  template <class Call>
  static constexpr long cost(long) {
    return Call::operands > 4 ? 8 : 2;  // with two moments there are a root and a quotient
  }
  template <class Call>
  static void run(const Arguments& a, long begin, long end) {
    (*kernel<Call>())(a, begin, end);
  }
  template <class Call>
  static constexpr auto kernel() {
    return &update_range<typename Call::Result, typename Call::template Operand<1>,
                         typename Call::template Operand<Call::operands - 1>, Call::operands - 2, Call::config()>;
  }

 private:
  template <class T, class G, class N, int arrays, auto config>
  static void update_range(const Arguments& a, long begin, long end) {
    T* changed[arrays]{a.changed<T>(0) + begin};
    for (int k = 1; k < arrays; ++k) changed[k] = a.changed<T>(k + 1) + begin;
    tenon::kernel::update_by_step<Op, config, arrays>(a.operand<N>(arrays + 1), end - begin, a.operand<G>(1) + begin,
                                                      changed);
  }
};

}  // namespace tenon
TENON_EXACT_END
