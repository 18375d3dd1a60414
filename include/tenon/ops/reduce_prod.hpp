// Product over axes.
#pragma once
#include <tenon/ops/reduction.hpp>

namespace tenon::inline TENON_ABI::ops {
TENON_EXACT_BEGIN
/// dy times the product of the other elements. Operands: x, dy (reduced axes as 1). Not for users.
struct ReduceProdGrad : Operator<ReduceProdGrad, "ReduceProdGrad"> {
  using Config = ReduceAxes;
  static constexpr None derivative{};
  static constexpr TensorType shape(const OperandTypes& in, const Config&, Sentence&) { return in[0]; }
};

/// Product over axes.
///
/// x           any shape; any dtype. Integers are multiplied in their own type, bool as int64
/// result      x without the reduced axes, or with them as 1 (keep_dims)
/// derivative  dy times the product of the other elements, correct also if some are 0
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
  return apply<ReduceProd, axes_of<X, false, Axes...>>(at, detail::countable(at, x));
}
/// The same, reduced axes stay with extent 1.
template <int... Axes, Operand X>
constexpr auto reduce_prod_keep(const X& x, std::source_location at = std::source_location::current()) {
  return apply<ReduceProd, axes_of<X, true, Axes...>>(at, detail::countable(at, x));
}

}  // namespace tenon::ops
