// The same elements in another shape: reshape, flatten, expand_dims, squeeze.
#pragma once
#include <tenon/ops/elementwise.hpp>

namespace tenon::inline TENON_ABI::ops {

/// Views x under another shape with as many elements. No kernel runs and no element moves.
///
/// x           any shape and dtype
/// derivative  dy under the shape of x
/// source      MindSpore's Reshape, PyTorch's reshape and view, unsqueeze and squeeze
struct Reshape : Operator<Reshape, "Reshape"> {
  struct Config {
    int rank = 0, extent[max_rank]{};
    int fault = 0, axis = 0;  // an axis that expand_dims or squeeze cannot add or drop
  };
  enum Fault : int { fits, no_such_axis, not_of_extent_one };
  static constexpr bool view = true;
  static constexpr Config to(const TensorType& t) {
    Config c{t.rank, {}};
    for (int axis = 0; axis < t.rank; ++axis) c.extent[axis] = t.extent[axis];
    return c;
  }
  static constexpr TensorType shape(const OperandTypes& in, const Config& wanted, Sentence& error) {
    TensorType t = in[0];
    t.rank = wanted.rank;
    for (int axis = 0; axis < max_rank; ++axis) t.extent[axis] = axis < wanted.rank ? wanted.extent[axis] : 0;
    if (wanted.fault == no_such_axis)
      error << "expand_dims or squeeze got the axis " << wanted.axis << " for " << in[0] << " of rank " << in[0].rank;
    else if (wanted.fault == not_of_extent_one)
      error << "squeeze got the axis " << wanted.axis << " of " << in[0] << ", whose extent is not 1";
    else if (!tenon::detail::only_first_is_dynamic(t))
      error << "Reshape of " << in[0] << " to " << t << ": only the leading extent can depend on n";
    else if (t.count(1) != in[0].count(1) || t.batched() != in[0].batched())
      error << "Reshape of " << in[0] << " (" << in[0].count(1) << " elements" << (in[0].batched() ? " a sample" : "")
            << ") to " << t << " (" << t.count(1) << ")";
    return t;
  }
  static constexpr void derivative(Derivative& d) { d.flows_to(0, d.call_with<Reshape>(to(d.type(0)), d.gradient())); }
};

namespace detail {
/// Extents of x with the axes first .. last - 1 in one.
constexpr Reshape::Config merged(const TensorType& x, int first, int last) {
  TensorType t;
  for (int axis = 0; axis < first; ++axis) t.extent[t.rank++] = x.extent[axis];
  int product = 1;
  for (int axis = first; axis < last; ++axis) product *= x.extent[axis];
  t.extent[t.rank++] = product;
  for (int axis = last; axis < x.rank; ++axis) t.extent[t.rank++] = x.extent[axis];
  return Reshape::to(t);
}
/// Marks an axis that counts from the end if negative; false if there is none.
constexpr bool mark(bool (&marked)[max_rank], int axis, int rank) {
  const int positive = normalized_axis(axis, rank);
  if (positive < 0 || rank > max_rank || marked[positive]) return false;
  return marked[positive] = true;
}
template <int... Axes>
constexpr Reshape::Config expanded(const TensorType& x) {
  bool added[max_rank]{};
  const int rank = x.rank + int(sizeof...(Axes));
  for (int axis : {Axes...})
    if (!mark(added, axis, rank)) return {0, {}, Reshape::no_such_axis, axis};
  TensorType t;
  t.rank = rank;
  for (int axis = 0, from = 0; axis < rank; ++axis) t.extent[axis] = added[axis] ? 1 : x.extent[from++];
  return Reshape::to(t);
}
template <int... Axes>
constexpr Reshape::Config squeezed(const TensorType& x) {
  constexpr int axes[]{Axes..., 0};
  bool dropped[max_rank]{};
  for (int i = 0; i < int(sizeof...(Axes)); ++i) {
    if (!mark(dropped, axes[i], x.rank)) return {0, {}, Reshape::no_such_axis, axes[i]};
    if (x.extent[normalized_axis(axes[i], x.rank)] != 1) return {0, {}, Reshape::not_of_extent_one, axes[i]};
  }
  TensorType t;
  for (int axis = 0; axis < x.rank; ++axis)
    if (!(sizeof...(Axes) ? dropped[axis] : x.extent[axis] == 1)) t.extent[t.rank++] = x.extent[axis];
  return Reshape::to(t);
}
/// Replaces one extent of 0 by what is left of the elements of x, as -1 does in NumPy (here -1 is dyn).
constexpr Reshape::Config completed(Reshape::Config wanted, const TensorType& x) {
  long known = 1;
  int open = -1;
  for (int axis = 0; axis < wanted.rank; ++axis) {
    if (wanted.extent[axis] == 0) open = axis;
    else known *= wanted.extent[axis] < 0 ? -wanted.extent[axis] : wanted.extent[axis];
  }
  if (open >= 0 && known) wanted.extent[open] = int(x.count(1) / known);
  return wanted;
}
template <class V>
inline constexpr TensorType type_of_value = std::remove_cvref_t<V>::dims;
}  // namespace detail

/// Views x under Shape S: `reshape<Shape<dyn, 400>>(x)`. One extent may be 0; it is computed from the number of
/// elements.
template <class S, Operand X>
constexpr auto reshape(const X& x, std::source_location at = std::source_location::current()) {
  if constexpr (is_broken<X>) return x;
  else return apply<Reshape, detail::completed(Reshape::to(S::dims), detail::type_of_value<X>)>(at, x);
}
/// [n, ...] -> [n, product of the rest]. MindSpore's nn.Flatten.
template <Operand X>
constexpr auto flatten(const X& x, std::source_location at = std::source_location::current()) {
  if constexpr (is_broken<X>) return x;
  else
    return apply<Reshape, detail::merged(detail::type_of_value<X>, detail::type_of_value<X>.rank ? 1 : 0,
                                         detail::type_of_value<X>.rank)>(at, x);
}
/// Inserts axes of extent 1 at the given positions of the result: `expand_dims<0>(x)`, `expand_dims<-1>(x)`.
template <int... Axes, Operand X>
constexpr auto expand_dims(const X& x, std::source_location at = std::source_location::current()) {
  if constexpr (is_broken<X>) return x;
  else return apply<Reshape, detail::expanded<Axes...>(detail::type_of_value<X>)>(at, x);
}
/// Drops the given axes, whose extent must be 1, or all axes of extent 1 if none is given.
template <int... Axes, Operand X>
constexpr auto squeeze(const X& x, std::source_location at = std::source_location::current()) {
  if constexpr (is_broken<X>) return x;
  else return apply<Reshape, detail::squeezed<Axes...>(detail::type_of_value<X>)>(at, x);
}

}  // namespace tenon::ops
