// Elements again and again: tile, repeat_interleave; products of all pairs: outer.
#pragma once
#include <tenon/ops/broadcast_to.hpp>
#include <tenon/ops/mul.hpp>
#include <tenon/ops/resample.hpp>
#include <tenon/ops/reshape.hpp>

namespace tenon::inline TENON_ABI::ops {

namespace detail {
/// x as [axes before `first`, 1, axes from there to `last`, the others], and the same with `times` in place of the 1.
constexpr TensorType repeated_axes(const TensorType& x, int first, int last, int times) {
  TensorType t{{}, 0, x.dtype};
  if (first > 0) t.extent[t.rank++] = x.extent[0] < 0 ? x.extent[0] * int(x.span(1, first)) : int(x.span(0, first));
  if (last > first) {  // copies of pieces
    t.extent[t.rank++] = times;
    t.extent[t.rank++] = int(x.span(first, x.rank));
  } else {  // copies of each element
    t.extent[t.rank++] = times;
    if (first < x.rank) t.extent[t.rank++] = int(x.span(first, x.rank));
  }
  return t;
}
template <int first, int last, int times, int axis, class X>
constexpr auto repeated(const std::source_location& at, const X& x) {
  if constexpr (is_broken<X> || times == 1) return x;
  else {
    constexpr TensorType result = [] {
      TensorType t = X::dims;
      t.extent[axis] *= times;
      return t;
    }();
    const auto once = apply<Reshape, Reshape::to(repeated_axes(X::dims, first, last, 1))>(at, x);
    const auto all = apply<BroadcastTo, SumTo::to(repeated_axes(X::dims, first, last, times))>(at, once);
    return apply<Reshape, Reshape::to(result)>(at, all);
  }
}
template <int axis, int... multiples, class X>
constexpr auto tiled_from(const std::source_location& at, const X& x) {
  if constexpr (axis < 0 || is_broken<X>) return x;
  else {
    constexpr int multiple[]{multiples...};
    return tiled_from<axis - 1, multiples...>(at, repeated<axis, axis + 1, multiple[axis], axis>(at, x));
  }
}
}  // namespace detail

/// Copies of x along its axes: `tile<2, 3>(x)` of [a, b] is [2 a, 3 b]. With more multiples than axes, x gets axes of
/// extent 1 before the others. MindSpore's tile, PyTorch's tile and repeat.
///
/// derivative  dy summed over the copies
template <int... multiples, Operand X>
constexpr auto tile(const X& x, std::source_location at = std::source_location::current()) {
  if constexpr (is_broken<X>) return x;
  else {
    constexpr int count = int(sizeof...(multiples)), multiple[]{multiples..., 1};
    static_assert(((multiples > 0) && ...), "tile<multiples...> needs multiples of 1 or more");
    static_assert(count <= max_rank, "tile<multiples...>: a tensor has at most 6 axes");
    static_assert(count >= X::dims.rank, "tile<multiples...> needs a multiple for each axis of the tensor");
    static_assert(!X::dims.batched() || (count == X::dims.rank && multiple[0] == 1),
                  "tile<multiples...> of a tensor whose leading extent depends on n needs 1 as its first multiple");
    if constexpr (count > X::dims.rank) {
      constexpr TensorType wider = [] {
        TensorType t = X::dims;
        t.rank = count;
        for (int axis = 0; axis < count; ++axis)
          t.extent[axis] = axis < count - X::dims.rank ? 1 : X::dims.extent[axis - (count - X::dims.rank)];
        return t;
      }();
      return detail::tiled_from<count - 1, multiples...>(at, apply<Reshape, Reshape::to(wider)>(at, x));
    } else return detail::tiled_from<count - 1, multiples...>(at, x);
  }
}

/// Each element along an axis several times: `repeat_interleave<2, 1>(x)` makes a a b b of a b. MindSpore's and
/// PyTorch's repeat_interleave with one number.
///
/// derivative  dy summed over the copies
template <int repeats, int axis, Operand X>
constexpr auto repeat_interleave(const X& x, std::source_location at = std::source_location::current()) {
  if constexpr (is_broken<X>) return x;
  else {
    constexpr int own = normalized_axis(axis, X::dims.rank);
    static_assert(repeats > 0, "repeat_interleave<repeats, axis> needs 1 or more");
    static_assert(own >= 0, "repeat_interleave<repeats, axis>: the tensor has no such axis");
    if constexpr (own == X::dims.rank - 1 && own > 0)  // element j is element j / repeats
      return apply<Resample, ResampleConfig{own, X::dims.extent[own] * repeats, Resampling::nearest,
                                            int(Coordinates::asymmetric)}>(at, x);
    else return detail::repeated<own + 1, own + 1, repeats, own>(at, x);
  }
}

/// All products of two vectors:  y[i, j] = a[i] b[j]. MindSpore's and PyTorch's outer.
constexpr auto outer(const Operand auto& a, const Operand auto& b,
                     std::source_location at = std::source_location::current()) {
  return mul(expand_dims<1>(a, at), expand_dims<0>(b, at), at);
}

}  // namespace tenon::ops
