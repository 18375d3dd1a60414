// Updates of optimizers, one element after the other, in double: each number that is kept is rounded once.
#pragma once
#include <tenon/backend/reference/index.hpp>
#include <tenon/backend/reference/rounded.hpp>
#include <tenon/target/update_arity.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI {

namespace kernel::reference {
/// changed[k][i] by f, whose first arguments are `read`; arrays that f does not take stay as they are.
template <int arrays, class T, class F, class... Read>
void update_element(F f, T* const* changed, long i, Read... read) {
  [&]<int... K>(std::integer_sequence<int, K...>) {
    double value[]{static_cast<double>(changed[K][i])...};
    f(read..., value[K]...);
    ((changed[K][i] = rounded<T>(value[K])), ...);
  }(std::make_integer_sequence<int, update_arity<F, double, int(sizeof...(Read)), arrays>()>());
}
}  // namespace kernel::reference

/// An operator whose `step` changes operands 0, 2, 3, ... by a gradient, operand 1, and by numbers, the last operand.
template <class Op>
requires requires { requires tenon::detail::is_set(Op::updates_elements); }
struct Kernel<Reference, Op> : kernel::reference::Whole {
  template <class Call>
  static void run(const Arguments& a, long, long) {
    using T = typename Call::Result;
    constexpr int last = Call::operands - 1;
    T* changed[last - 1]{a.changed<T>(0)};
    for (int k = 2; k < last; ++k) changed[k - 1] = a.changed<T>(k);
    const auto* const gradient = a.operand<typename Call::template Operand<1>>(1);
    Op::template step<Call::config(), double>(a.operand<typename Call::template Operand<last>>(last), [&](auto f) {
      for (long i = 0; i < Call::result.count(a.n); ++i)
        kernel::reference::update_element<last - 1>(f, changed, i, static_cast<double>(gradient[i]));
    });
  }
};

}  // namespace tenon
TENON_EXACT_END
