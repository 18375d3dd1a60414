// Element-wise operators: eval of every element.
#pragma once
#include <tenon/backend/reference/index.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI {

/// Every operator with an eval, ours or a user's.
template <class Op>
requires(Op::elementwise && requires { typename Op::Function; })
struct Kernel<Reference, Op> : kernel::reference::Whole {
  template <class Call>
  static void run(const Arguments& a, long, long) {
    for (long i = 0; i < Call::result.count(a.n); ++i) {
      const auto index = kernel::reference::index_of(i, Call::result, a.n);
      a.result<typename Call::Result>()[i] = [&]<int... K>(std::integer_sequence<int, K...>) {
        return static_cast<typename Call::Result>(Op::evaluate(a.operand<typename Call::template Operand<K>>(
            K)[kernel::reference::broadcast_place(index, Call::result, Call::operand(K), a.n)]...));
      }(std::make_integer_sequence<int, Call::operands>{});
    }
  }
};

}  // namespace tenon
TENON_EXACT_END
