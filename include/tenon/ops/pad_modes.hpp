// Borders made of the elements of a tensor: mirrored, repeated, or taken from the other side.
#pragma once
#include <tenon/ops/pad.hpp>
#include <tenon/ops/resample.hpp>

namespace tenon::inline TENON_ABI::ops {

namespace detail {
template <Resampling mode, int axis, Margin margin, Margin... more, class X>
constexpr auto with_borders(const std::source_location& at, const X& x) {
  const auto bordered = [&] {
    if constexpr (is_broken<X> || (margin.before == 0 && margin.after == 0)) return x;
    else return apply<Resample, along(X::dims, mode, axis, margin.before, margin.before + margin.after)>(at, x);
  }();
  if constexpr (sizeof...(more) == 0) return bordered;
  else return with_borders<mode, axis + 1, more...>(at, bordered);
}
}  // namespace detail

/// Adds margins per axis, from the first axis on, in which elements are mirrored at the first and the last one:
/// `pad_reflect<Margin{}, Margin{1, 2}>(x)` makes b a b c d c b of a b c d. A margin has fewer elements than the axis.
/// MindSpore's and PyTorch's pad with mode reflect.
template <Margin... margins>
constexpr auto pad_reflect(const Operand auto& x, std::source_location at = std::source_location::current()) {
  return detail::with_borders<Resampling::reflect, 0, margins..., Margin{}>(at, x);
}
/// The same with the first and the last element mirrored, too: a a b c d d c. MindSpore's MirrorPad with mode
/// SYMMETRIC.
template <Margin... margins>
constexpr auto pad_symmetric(const Operand auto& x, std::source_location at = std::source_location::current()) {
  return detail::with_borders<Resampling::symmetric, 0, margins..., Margin{}>(at, x);
}
/// The same with copies of the first and the last element: a a b c d d d. Mode replicate.
template <Margin... margins>
constexpr auto pad_replicate(const Operand auto& x, std::source_location at = std::source_location::current()) {
  return detail::with_borders<Resampling::replicate, 0, margins..., Margin{}>(at, x);
}
/// The same with the elements of the other side: d a b c d a b. Mode circular.
template <Margin... margins>
constexpr auto pad_circular(const Operand auto& x, std::source_location at = std::source_location::current()) {
  return detail::with_borders<Resampling::circular, 0, margins..., Margin{}>(at, x);
}

}  // namespace tenon::ops
