// Splits a tensor along an axis.
#pragma once
#include <array>
#include <tuple>

#include <tenon/ops/slice.hpp>

namespace tenon::inline TENON_ABI::ops {

/// One piece of a tensor that is divided along an axis.
///
/// x           any shape and dtype
/// result      x with a smaller extent along the axis; a leading extent of k n can be divided in k pieces
/// derivative  dy in a tensor of zeros
/// source      MindSpore's Split
struct Split : Operator<Split, "Split"> {
  struct Config {
    int axis = 0, first = 0, extent = 0, pieces = 0, total = 0;  // pieces: equal ones, else the extents add up to total
  };
  static constexpr TensorType shape(const OperandTypes& in, const Config& c, Sentence& error) {
    const TensorType& x = in[0];
    TensorType y = x;
    const int axis = normalized_axis(c.axis, x.rank);
    if (axis < 0) error << "Split got the axis " << c.axis << " for " << x << " of rank " << x.rank;
    else if (c.pieces > 0 && x[axis] % c.pieces != 0)
      error << "Split of " << x << " along axis " << axis << " in " << c.pieces
            << " equal pieces: its extent is no multiple of that";
    else if (c.pieces == 0 && (c.total != x[axis] || c.extent <= 0))
      error << "Split of " << x << " along axis " << axis << " in pieces of " << c.total
            << " elements together, all above 0";
    else y.extent[axis] = c.pieces ? x[axis] / c.pieces : c.extent;
    return y;
  }
  static constexpr SliceWindow window(const Config& c, const TensorType& x) {
    const int axis = normalized_axis(c.axis, x.rank);
    SliceWindow w = SliceWindow::all(x, axis);
    w.first[SliceWindow::axes - 1] = c.pieces ? x[axis] / c.pieces * c.first : c.first;
    return w;
  }
  static constexpr void derivative(Derivative& d) {
    d.flows_to(0, d.call_with<SliceGrad>(window(d.config<Split>(), d.type(0)), d.gradient()));
  }
};

/// Equal pieces along an axis as a std::array: `auto [q, k, v] = split<-1, 3>(x);`
template <int axis, int pieces, Operand X>
constexpr auto split(const X& x, std::source_location at = std::source_location::current()) {
  static_assert(pieces > 0, "split<axis, pieces> needs at least one piece");
  return [&]<int... I>(std::integer_sequence<int, I...>) {
    return std::array{apply<Split, Split::Config{axis, I, 0, pieces, 0}>(at, x)...};
  }(std::make_integer_sequence<int, pieces>{});
}

namespace detail {
template <int Index, int... Extents>
constexpr int sum_before() {
  constexpr int extent[]{Extents...};
  int sum = 0;
  for (int i = 0; i < Index; ++i) sum += extent[i];
  return sum;
}
}  // namespace detail

/// Pieces of given extents along an axis as a std::tuple: `auto [head, tail] = split_sizes<1, 2, 6>(x);`
template <int axis, int... extents, Operand X>
constexpr auto split_sizes(const X& x, std::source_location at = std::source_location::current()) {
  static_assert(sizeof...(extents) > 0, "split_sizes<axis, extents...> needs at least one extent");
  return [&]<int... I>(std::integer_sequence<int, I...>) {
    return std::tuple{
        apply<Split, Split::Config{axis, detail::sum_before<I, extents...>(), extents, 0, (extents + ...)}>(at, x)...};
  }(std::make_integer_sequence<int, int(sizeof...(extents))>{});
}

}  // namespace tenon::ops
