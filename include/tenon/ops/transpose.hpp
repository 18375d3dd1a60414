// Permutation of axes.
#pragma once
#include <tenon/ops/accumulate.hpp>

namespace tenon::inline TENON_ABI::ops {

/// Exchanges axes: axis k of the result is axis order[k] of x.
///
/// x           any shape and dtype; a leading extent that depends on n stays leading
/// derivative  dy transposed back
/// source      MindSpore's Transpose, PyTorch's permute and transpose
struct Transpose : Operator<Transpose, "Transpose"> {
  struct Config {
    int axes = 0, order[max_rank]{};  // negative orders count from the end
  };
  // The permutation with positive axes, or false if it is none.
  static constexpr bool positive(const Config& c, int rank, int* order) {
    unsigned seen = 0;
    for (int k = 0; k < rank && c.axes == rank; ++k) {
      order[k] = normalized_axis(c.order[k], rank);
      if (order[k] >= 0) seen |= 1u << order[k];
    }
    return c.axes == rank && seen == (1u << rank) - 1;
  }
  static constexpr TensorType shape(const OperandTypes& in, const Config& c, Sentence& error) {
    const TensorType& x = in[0];
    TensorType y = x;
    int order[max_rank]{};
    if (!positive(c, x.rank, order)) {
      error << "Transpose of " << x << " got the order (";
      for (int k = 0; k < c.axes; ++k) (k ? error << "," : error) << c.order[k];
      error << "), it needs each of the " << x.rank << " axes once";
      return y;
    }
    for (int k = 0; k < x.rank; ++k) y.extent[k] = x.extent[order[k]];
    if (!tenon::detail::only_first_is_dynamic(y))
      error << "Transpose of " << x << " to " << y << ": only the leading extent can depend on n";
    return y;
  }
  static constexpr void derivative(Derivative& d) {
    int order[max_rank]{};
    positive(d.config<Transpose>(), d.type(0).rank, order);
    Config back{d.type(0).rank, {}};
    for (int k = 0; k < back.axes; ++k) back.order[order[k]] = k;
    d.flows_to(0, d.call_with<Transpose>(back, d.gradient()));
  }
};

namespace detail {
template <int... Order>
constexpr Transpose::Config transpose_order(int rank) {
  Transpose::Config c{rank, {}};
  if constexpr (sizeof...(Order) > 0) {
    const int order[]{Order...};  // nvcc loses a pack in a braced return
    c.axes = int(sizeof...(Order));
    for (int k = 0; k < c.axes; ++k) c.order[k] = order[k];
  } else
    for (int k = 0; k < rank; ++k) c.order[k] = rank - 1 - k;
  return c;
}
constexpr Transpose::Config swapped(int rank, int a, int b) {
  Transpose::Config c{rank, {}};
  for (int k = 0; k < rank; ++k) c.order[k] = k;
  const int first = normalized_axis(a, rank), second = normalized_axis(b, rank);
  if (first < 0 || second < 0) return {2, {a, b}};  // the shape rule says what is wrong
  c.order[first] = second, c.order[second] = first;
  return c;
}
}  // namespace detail

/// Axis k of the result is axis Order[k] of x: `transpose<0, 2, 1>(x)`. Without an order all axes are reversed.
template <int... Order, Operand X>
constexpr auto transpose(const X& x, std::source_location at = std::source_location::current()) {
  static_assert(sizeof...(Order) <= max_rank, "a tensor has at most 6 axes");
  if constexpr (is_broken<X>) return x;
  else return apply<Transpose, detail::transpose_order<Order...>(X::dims.rank)>(at, x);
}
/// Exchanges two axes: `swap_axes<-1, -2>(x)`.
template <int A, int B, Operand X>
constexpr auto swap_axes(const X& x, std::source_location at = std::source_location::current()) {
  if constexpr (is_broken<X>) return x;
  else return apply<Transpose, detail::swapped(X::dims.rank, A, B)>(at, x);
}

}  // namespace tenon::ops
