// Reductions over axes, softmax, and what picks the largest.
#pragma once
#include "axes.hpp"

namespace onnx {

/// The axes of a reduction: an input or an attribute of the node, else all.
template <class Node, class X>
consteval List reduced_axes() {
  List axes = constant<Node>(1);
  if (axes.count == 0) axes = list<Node>("axes", 0, 0);
  if (axes.count == 0 && whole<Node>("noop_with_empty_axes", 0) == 0) axes = range(0, rank<X>);
  for (int i = 0; i < axes.count; ++i) axes.value[i] = axis_of(axes.value[i], rank<X>);
  return axes;
}
/// f.operator()<keep, axes...>()
template <class Node, class X, class F>
constexpr auto reduce(const X& x, F f) {
  constexpr List axes = reduced_axes<Node, X>();
  if constexpr (axes.count == 0) return ops::identity(x);
  else
    return spread<axes>(
        [&]<int... axis>() { return f.template operator()<whole<Node>("keepdims", 1) != 0, axis...>(); });
}

template <class Node, class X>
constexpr auto ReduceSum(const X& x, const auto&...) {
  return reduce<Node>(x, [&]<bool keep, int... axis>() {
    if constexpr (keep) return ops::reduce_sum_keep<axis...>(x);
    else return ops::reduce_sum<axis...>(x);
  });
}
template <class Node, class X>
constexpr auto ReduceMean(const X& x, const auto&...) {
  return reduce<Node>(x, [&]<bool keep, int... axis>() {
    if constexpr (keep) return ops::reduce_mean_keep<axis...>(x);
    else return ops::reduce_mean<axis...>(x);
  });
}
template <class Node, class X>
constexpr auto ReduceMax(const X& x, const auto&...) {
  return reduce<Node>(x, [&]<bool keep, int... axis>() {
    if constexpr (keep) return ops::reduce_max_keep<axis...>(x);
    else return ops::reduce_max<axis...>(x);
  });
}
template <class Node, class X>
constexpr auto ReduceMin(const X& x, const auto&...) {
  return reduce<Node>(x, [&]<bool keep, int... axis>() {
    if constexpr (keep) return ops::reduce_min_keep<axis...>(x);
    else return ops::reduce_min<axis...>(x);
  });
}
template <class Node, class X>
constexpr auto ReduceProd(const X& x, const auto&...) {
  return reduce<Node>(x, [&]<bool keep, int... axis>() {
    if constexpr (keep) return ops::reduce_prod_keep<axis...>(x);
    else return ops::reduce_prod<axis...>(x);
  });
}
template <class Node, class X>
constexpr auto ReduceSumSquare(const X& x, const auto&...) {
  return ReduceSum<Node>(ops::square(x));
}
template <class Node, class X>
constexpr auto ReduceL1(const X& x, const auto&...) {
  return ReduceSum<Node>(ops::abs(x));
}
template <class Node, class X>
constexpr auto ReduceL2(const X& x, const auto&...) {
  return ops::sqrt(ReduceSum<Node>(ops::square(x)));
}
template <class Node, class X>
constexpr auto ReduceLogSum(const X& x, const auto&...) {
  return ops::log(ReduceSum<Node>(x));
}

namespace detail {
template <class Node, class X>
inline constexpr int axis = axis_of(whole<Node>("axis", 0), rank<X>);
template <class Node>
inline constexpr bool keeps = whole<Node>("keepdims", 1) != 0;
/// The first place, or the last one if the node asks for it.
template <class Node, class X>
constexpr auto place(const X& x, auto first) {
  if constexpr (whole<Node>("select_last_index", 0) == 0) return ops::cast<std::int64_t>(first(x));
  else {
    constexpr int at = axis<Node, X>, extent = int(type<X>.extent[at]);
    return ops::cast<std::int64_t>(ops::sub(extent - 1, first(ops::slice<at, tenon::Part{.step = -1}>(x))));
  }
}
}  // namespace detail

template <class Node, class X>
constexpr auto ArgMax(const X& x) {
  return detail::place<Node>(x,
                             [](const auto& v) { return ops::argmax<detail::axis<Node, X>, detail::keeps<Node>>(v); });
}
template <class Node, class X>
constexpr auto ArgMin(const X& x) {
  return detail::place<Node>(x,
                             [](const auto& v) { return ops::argmin<detail::axis<Node, X>, detail::keeps<Node>>(v); });
}
template <class Node, class X>
constexpr auto Softmax(const X& x) {
  return ops::softmax<axis_of(whole<Node>("axis", -1), rank<X>)>(x);
}
template <class Node, class X>
constexpr auto LogSoftmax(const X& x) {
  return ops::log_softmax<axis_of(whole<Node>("axis", -1), rank<X>)>(x);
}
/// 1 where the first of the largest elements along an axis is.
template <class Node, class X>
constexpr auto Hardmax(const X& x) {
  constexpr int axis = axis_of(whole<Node>("axis", -1), rank<X>);
  const auto last = ops::swap_axes<axis, rank<X> - 1>(x);
  const auto ones = ops::one_hot<type<decltype(last)>.last(), Element<X>>(ops::argmax<-1>(last));
  return ops::swap_axes<axis, rank<X> - 1>(ones);
}

template <class Node, class X>
constexpr auto ReduceLogSumExp(const X& x, const auto&...) {
  return reduce<Node>(x, [&]<bool keep, int... axis>() {
    if constexpr (keep) return ops::logsumexp_keep<axis...>(x);
    else return ops::logsumexp<axis...>(x);
  });
}
template <class Node, class X>
constexpr auto CumSum(const X& x, const auto&) {
  constexpr int axis = axis_of(constant<Node>(1)[0], rank<X>);
  constexpr bool exclusive = whole<Node>("exclusive", 0) != 0, reverse = whole<Node>("reverse", 0) != 0;
  return ops::cumsum<axis, exclusive, reverse>(x);
}
template <class Node, class X>
constexpr auto TopK(const X& x, const auto&) {
  constexpr int axis = axis_of(whole<Node>("axis", -1), rank<X>), k = int(constant<Node>(1)[0]);
  constexpr bool largest = whole<Node>("largest", 1) != 0;
  const auto best = ops::topk<k, axis, largest>(x);
  return std::tuple(std::get<0>(best), ops::cast<std::int64_t>(std::get<1>(best)));
}

}  // namespace onnx
