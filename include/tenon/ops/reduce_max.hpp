// Largest element over axes.
#pragma once
#include <limits>
#include <tenon/core/math/either.hpp>

#include <tenon/ops/div.hpp>
#include <tenon/ops/reduce_sum.hpp>

namespace tenon::inline TENON_ABI::ops {
TENON_EXACT_BEGIN
/// 1 where x is the extreme of its axes, else 0. Operands: x, extreme. Not for users.
struct IsExtreme : Elementwise<IsExtreme, "IsExtreme"> {
  static constexpr void derivative(Derivative& d) { d.no_gradient(); }  // constant wherever it has one
  template <class V>
  static constexpr V eval(V x, V extreme) {
    return x == extreme ? V(1) : V(0);
  }
};
/// The gradient where x is the extreme of its axes, else 0; NaN where that is NaN, as in PyTorch. Operands: x, extreme,
/// gradient. Not for users.
struct ExtremeGrad : Elementwise<ExtremeGrad, "ExtremeGrad"> {
  template <class V>
  static constexpr V eval(V x, V extreme, V gradient) {
    return math::either(x == extreme, gradient, math::either(extreme == extreme, V(0), extreme));
  }
  static constexpr void derivative(Derivative& d) {
    d.flows_to(2, d.call<ExtremeGrad>(d.operand(0), d.operand(1), d.gradient()));
    d.no_gradient(0, 1);
  }
};
TENON_EXACT_END

namespace detail {
/// Elements that are equally extreme share the gradient in equal parts.
constexpr void extreme_derivative(Derivative& d, ReduceAxes axes, const TensorType& kept) {
  axes.keep_dims = 1;
  const int x = d.operand(0), extreme = d.call_with<Reshape>(Reshape::to(kept), d.result()),
            gradient = d.call_with<Reshape>(Reshape::to(kept), d.gradient());
  const int ties = d.call_with<ReduceSum>(axes, d.call<IsExtreme>(x, extreme));
  d.flows_to(0, d.call<ExtremeGrad>(x, extreme, d.call<Div>(gradient, ties)));
}
template <class A>
inline constexpr bool has_infinity = std::numeric_limits<A>::has_infinity;
template <class A>
inline constexpr A lowest = has_infinity<A> ? -std::numeric_limits<A>::infinity() : std::numeric_limits<A>::lowest();
template <class A>
inline constexpr A highest = has_infinity<A> ? std::numeric_limits<A>::infinity() : std::numeric_limits<A>::max();
}  // namespace detail

TENON_EXACT_BEGIN
/// Largest element over axes; a NaN among them is the result.
///
/// x           any shape; any dtype (of bool: whether one is true)
/// result      x without the reduced axes, or with them as 1 (keep_dims)
/// derivative  dy to the largest element, in equal parts if there are several; NaN to all if one is NaN
/// source      MindSpore's ReduceMax
struct ReduceMax : Reduction<ReduceMax, "ReduceMax"> {
  template <class T>
  using Carried = Compute<T>;
  template <class A>
  static constexpr A start() {
    return detail::lowest<A>;
  }
  template <class A>
  static constexpr A combine(A a, A b) {
    return b > a || b != b ? b : a;
  }
  template <class A, int Width>
  static Simd<A, Width> combine(Simd<A, Width> a, Simd<A, Width> b) {
    return ((b.lanes > a.lanes) | (b.lanes != b.lanes)) ? b.lanes : a.lanes;
  }
  template <class A>
  static constexpr A finish(A largest, long) {
    return largest;
  }
  static constexpr void derivative(Derivative& d) {
    const ReduceAxes axes = d.config<ReduceMax>();
    detail::extreme_derivative(d, axes, kept(d.type(0), axes));
  }
};
TENON_EXACT_END

/// Largest element over Axes (all of them if none is given): `reduce_max<1>(x)`.
template <int... Axes, Operand X>
constexpr auto reduce_max(const X& x, std::source_location at = std::source_location::current()) {
  return apply<ReduceMax, axes_of<X, false, Axes...>>(at, x);
}
/// The same, reduced axes stay with extent 1.
template <int... Axes, Operand X>
constexpr auto reduce_max_keep(const X& x, std::source_location at = std::source_location::current()) {
  return apply<ReduceMax, axes_of<X, true, Axes...>>(at, x);
}

}  // namespace tenon::ops
