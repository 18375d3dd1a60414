// Product over axes.
#pragma once
#include <tenon/kernel/cpu/reduce/others_product.hpp>
#include <tenon/ops/reduction.hpp>

namespace tenon::inline TENON_ABI::ops {
TENON_EXACT_BEGIN
/// dy times the product of the other elements. Operands: x, dy (reduced axes as 1). Not for users.
struct ReduceProdGrad : Operator<ReduceProdGrad, "ReduceProdGrad"> {
  using Config = ReduceAxes;
  static constexpr None derivative{};
  static constexpr TensorType shape(const OperandTypes& in, const Config&, Sentence&) { return in[0]; }
  template <class Call>
  static constexpr long items(long n) {
    return Call::operand(1).count(n);
  }
  template <class Call>
  static constexpr long factors(long n) {
    return Call::operand(1).count(n) ? Call::result.count(n) / Call::operand(1).count(n) : 0;
  }
  template <class Call>
  static constexpr long cost(long n) {
    return 4 * factors<Call>(n) + 1;
  }
  template <class Call>
  static constexpr long workspace(long n) {
    return factors<Call>(n) * long(sizeof(Accumulator<typename Call::Result>));
  }
  template <class Call>
  static void run(const Arguments& a, long begin, long end) {
    using T = typename Call::Result;
    using A = Accumulator<T>;
    kernel::others_product(Call::result, unsigned(Call::config().mask), a.n, a.operand<T>(0), a.operand<T>(1),
                           a.result<T>(), begin, end, reinterpret_cast<A*>(a.workspace));
  }
};

/// Product over axes.
///
/// x           any shape; floating-point or integer
/// result      x without the reduced axes, or with them as 1 (keep_dims)
/// derivative  dy times the product of the other elements, right also where some are 0
/// source      MindSpore's ReduceProd
struct ReduceProd : Reduction<ReduceProd, "ReduceProd"> {
  template <class A>
  static constexpr A start() {
    return A(1);
  }
  template <class A>
  static constexpr A combine(A a, A b) {
    return a * b;
  }
  template <class A>
  static constexpr A finish(A product, long) {
    return product;
  }
  static constexpr void derivative(Derivative& d) {
    const ReduceAxes axes = d.config<ReduceProd>();
    const int g = d.call_with<Reshape>(Reshape::to(kept(d.type(0), axes)), d.gradient());
    d.flows_to(0, d.call_with<ReduceProdGrad>(axes, d.operand(0), g));
  }
};
TENON_EXACT_END

/// Product over Axes (all of them if none is given): `reduce_prod<1>(x)`.
template <int... Axes, Operand X>
constexpr auto reduce_prod(const X& x, std::source_location at = std::source_location::current()) {
  return apply<ReduceProd, axes_of<X, false, Axes...>>(at, x);
}
/// The same, reduced axes stay with extent 1.
template <int... Axes, Operand X>
constexpr auto reduce_prod_keep(const X& x, std::source_location at = std::source_location::current()) {
  return apply<ReduceProd, axes_of<X, true, Axes...>>(at, x);
}

}  // namespace tenon::ops
