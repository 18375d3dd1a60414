// Sums over whole parameters for optimizers, in double, and the numbers derived from them.
#pragma once
#include <algorithm>
#include <utility>

#include <tenon/backend/reference/index.hpp>
#include <tenon/backend/reference/rounded.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI {

namespace ops {
struct AddSquares;
struct ClipNumbers;
struct SumOfSquares;
}  // namespace ops

namespace kernel::reference {
template <class T>
double squares_added_up(const T* x, long count) {
  double sum = 0;
  for (long i = 0; i < count; ++i) sum += static_cast<double>(x[i]) * static_cast<double>(x[i]);
  return sum;
}
/// Base of two sums of squares: of the parameter, and of the `term<Call>(arguments, i)` of its elements. There is one
/// piece for all elements; the others are 0.
template <class Op>
struct WholeSums : Whole {
  template <class Call>
  static void run(const Arguments& a, long, long) {
    using A = typename Call::Result;
    const long count = Call::operand(0).count(1), pieces = Call::result.extent[1];
    double sum = 0;
    for (long i = 0; i < count; ++i) {
      const double term = Kernel<Reference, Op>::template term<Call>(a, i);
      sum += term * term;
    }
    std::fill_n(a.result<A>(), 2 * pieces, A(0));
    a.result<A>()[0] = rounded<A>(squares_added_up(a.operand<typename Call::template Operand<0>>(0), count));
    a.result<A>()[pieces] = rounded<A>(sum);
  }
};
}  // namespace kernel::reference

template <class Op>
requires requires { requires tenon::detail::is_set(Op::sums_pieces); }
struct Kernel<Reference, Op> : kernel::reference::WholeSums<Op> {
  template <class Call>
  static double term(const Arguments& a, long i) {
    const auto at = [&]<int K>(std::integral_constant<int, K>) {
      return static_cast<double>(a.operand<typename Call::template Operand<K>>(K)[i]);
    };
    double term = 0;
    Op::template direction<double>(a.operand<float>(Call::operands - 1), [&](auto f) {
      [&]<int... K>(std::integer_sequence<int, K...>) {
        double moment[]{at(std::integral_constant<int, K + 2>())..., 0};
        term = f(at(std::integral_constant<int, 1>()), at(std::integral_constant<int, 0>()), moment[K]...);
      }(std::make_integer_sequence<int, Call::operands - 3>());
    });
    return term;
  }
};

/// Of an operator that derives the numbers of an update from sums.
template <class Op>
requires requires { requires tenon::detail::is_set(Op::renews_numbers); }
struct Kernel<Reference, Op> : kernel::reference::Whole {
  template <class Call>
  static void run(const Arguments& a, long, long) {
    const auto* sums = a.operand<typename Call::template Operand<0>>(0);
    const long pieces = Call::operand(0).extent[1];
    double total[2]{};
    for (long i = 0; i < 2 * pieces; ++i) total[i / pieces] += static_cast<double>(sums[i]);
    std::copy_n(a.operand<float>(1), Call::result.extent[0], a.result<float>());
    long count = 1;
    if constexpr (Call::operands > 2) count = Call::operand(2).count(1);
    Op::renew(total, count, a.result<float>());
  }
};

template <>
struct Kernel<Reference, ops::SumOfSquares> : kernel::reference::Whole {
  template <class Call>
  static void run(const Arguments& a, long, long) {
    *a.result<double>() = kernel::reference::squares_added_up(a.operand<typename Call::template Operand<0>>(0),
                                                              Call::operand(0).count(a.n));
  }
};
template <>
struct Kernel<Reference, ops::AddSquares> : kernel::reference::Whole {
  template <class Call>
  static void run(const Arguments& a, long, long) {
    *a.changed<double>(0) += kernel::reference::squares_added_up(a.operand<typename Call::template Operand<1>>(1),
                                                                 Call::operand(1).count(a.n));
  }
};
template <>
struct Kernel<Reference, ops::ClipNumbers> : kernel::reference::Whole {
  template <class Call>
  static void run(const Arguments& a, long, long) {
    std::copy_n(a.operand<float>(0), Call::result.count(1), a.result<float>());
    Call::Op::renew(*a.operand<double>(1), *a.operand<float>(2), a.result<float>());
  }
};

}  // namespace tenon
TENON_EXACT_END
