// Smallest element over axes.
#pragma once
#include <tenon/ops/reduce_max.hpp>

namespace tenon::inline TENON_ABI::ops {
TENON_EXACT_BEGIN
/// Smallest element over axes; a NaN among them is the result.
///
/// x           any shape; any dtype (of bool: whether all are true)
/// result      x without the reduced axes, or with them as 1 (keep_dims)
/// derivative  dy to the smallest element, in equal parts if there are several; NaN to all if one is NaN
/// source      MindSpore's ReduceMin
struct ReduceMin : Reduction<ReduceMin, "ReduceMin"> {
  template <class T>
  using Carried = Compute<T>;
  template <class A>
  static constexpr A start() {
    return detail::highest<A>;
  }
  template <class A>
  static constexpr A combine(A a, A b) {
    return b < a || b != b ? b : a;
  }
  template <class A, int Width>
  static Simd<A, Width> combine(Simd<A, Width> a, Simd<A, Width> b) {
    return ((b.lanes < a.lanes) | (b.lanes != b.lanes)) ? b.lanes : a.lanes;
  }
  template <class A>
  static constexpr A finish(A smallest, long) {
    return smallest;
  }
  static constexpr void derivative(Derivative& d) {
    const ReduceAxes axes = d.config<ReduceMin>();
    detail::extreme_derivative(d, axes, kept(d.type(0), axes));
  }
};
TENON_EXACT_END

/// Smallest element over Axes (all of them if none is given): `reduce_min<1>(x)`.
template <int... Axes, Operand X>
constexpr auto reduce_min(const X& x, std::source_location at = std::source_location::current()) {
  return apply<ReduceMin, axes_of<X, false, Axes...>>(at, x);
}
/// The same, reduced axes stay with extent 1.
template <int... Axes, Operand X>
constexpr auto reduce_min_keep(const X& x, std::source_location at = std::source_location::current()) {
  return apply<ReduceMin, axes_of<X, true, Axes...>>(at, x);
}

}  // namespace tenon::ops
