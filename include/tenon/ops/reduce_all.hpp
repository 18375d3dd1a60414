// Whether all elements over axes are true, or any.
#pragma once
#include <tenon/ops/compare.hpp>
#include <tenon/ops/reduce_max.hpp>
#include <tenon/ops/reduce_min.hpp>

namespace tenon::inline TENON_ABI::ops {

namespace detail {
template <class X>
constexpr decltype(auto) truth(const X& x, const std::source_location& at) {
  if constexpr (is_broken<X> || std::is_same_v<ops::ElementOf<X>, bool>) return (x);
  else return not_equal(x, 0, at);
}
}  // namespace detail

/// Whether all elements over Axes (all of them if none is given) are true, or differ from 0: `reduce_all<1>(x == y)`.
///
/// x           any shape and dtype
/// result      bool, x without the reduced axes; true for no element
/// derivative  none: a bool has no gradient
/// source      MindSpore's ReduceAll, PyTorch's all
template <int... Axes, Operand X>
constexpr auto reduce_all(const X& x, std::source_location at = std::source_location::current()) {
  return reduce_min<Axes...>(detail::truth(x, at), at);
}
/// The same, reduced axes stay with extent 1.
template <int... Axes, Operand X>
constexpr auto reduce_all_keep(const X& x, std::source_location at = std::source_location::current()) {
  return reduce_min_keep<Axes...>(detail::truth(x, at), at);
}
/// Whether any element over Axes is true, or differs from 0; false for no element. MindSpore's ReduceAny.
template <int... Axes, Operand X>
constexpr auto reduce_any(const X& x, std::source_location at = std::source_location::current()) {
  return reduce_max<Axes...>(detail::truth(x, at), at);
}
/// The same, reduced axes stay with extent 1.
template <int... Axes, Operand X>
constexpr auto reduce_any_keep(const X& x, std::source_location at = std::source_location::current()) {
  return reduce_max_keep<Axes...>(detail::truth(x, at), at);
}

}  // namespace tenon::ops
