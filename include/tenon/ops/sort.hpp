// Elements along an axis in order: sort, argsort, topk.
#pragma once
#include <tuple>

#include <tenon/ops/full_like.hpp>
#include <tenon/ops/gather_elements.hpp>

namespace tenon::inline TENON_ABI::ops {

/// dy where its element came from; the others are 0. Operands: the places of Sort, dy. Not for users.
struct SortGrad : Operator<SortGrad, "SortGrad"> {
  using Config = detail::LineConfig;
  static constexpr TensorType shape(const OperandTypes& in, const Config& c, Sentence& error) {
    return ScatterElements::shape(in, c, error);
  }
  static constexpr void derivative(Derivative& d) {
    d.flows_to(1, d.call_with<GatherElements>({d.config<SortGrad>().axis}, d.gradient(), d.operand(0)));
  }
};

/// Elements along an axis in ascending or descending order, and their places. Equal elements keep their order, also in
/// descending order. A NaN is larger than every number.
///
/// x           any shape of rank 1 or more; any dtype; the extent along the axis is fixed
/// results     the first `count` elements in order, or all; their places, int32
/// derivative  dy where its element came from
/// source      MindSpore's Sort and TopK; order of equal elements and of NaN as PyTorch's stable sort
struct Sort : Operator<Sort, "Sort"> {
  struct Config {
    int axis = -1, descending = 0, count = 0;  // 0: all
  };
  static constexpr int returns = 2;
  static constexpr ResultTypes shape(const OperandTypes& in, const Config& c, Sentence& error) {
    const char* const who = c.count ? "TopK" : "Sort";
    TensorType y = in[0];
    const int axis = normalized_axis(c.axis, y.rank);
    if (axis < 0) error << who << " got the axis " << c.axis << " for " << in[0] << " of rank " << y.rank;
    else if (y[axis] < 0) error << who << " of " << y << " along axis 0, which depends on n: it needs a fixed extent";
    else if (c.count < 0 || c.count > y[axis])
      error << "TopK got k = " << c.count << " for the " << y[axis] << " elements along axis " << axis << " of " << y;
    else if (c.count) y.extent[axis] = c.count;
    return {y, y.with(Dtype::int32)};
  }
  static constexpr void derivative(Derivative& d) {
    const int axis = normalized_axis(d.config<Sort>().axis, d.type(0).rank);
    if (d.has_gradient(0)) d.flows_to(0, d.call_with<SortGrad>({axis, d.type(0)[axis]}, d.result(1), d.gradient(0)));
  }
};

/// The elements along an axis in order, and their places: `const auto [values, places] = sort(x);`
template <int axis = -1, bool descending = false>
constexpr auto sort(const Operand auto& x, std::source_location at = std::source_location::current()) {
  return apply<Sort, Sort::Config{axis, descending}>(at, x);
}
/// The places of the elements along an axis in order, int32: `argsort<-1, true>(scores)`.
template <int axis = -1, bool descending = false, Operand X>
constexpr auto argsort(const X& x, std::source_location at = std::source_location::current()) {
  const auto sorted = apply<Sort, Sort::Config{axis, descending}>(at, x);
  if constexpr (is_broken<std::remove_cvref_t<decltype(sorted)>>) return sorted;
  else return std::get<1>(sorted);
}
/// The k largest (or smallest) elements along an axis in descending (ascending) order, and their places:
/// `const auto [values, places] = topk<5>(logits);`
template <int k, int axis = -1, bool largest = true>
constexpr auto topk(const Operand auto& x, std::source_location at = std::source_location::current()) {
  static_assert(k > 0, "topk<k> needs at least one element");
  return apply<Sort, Sort::Config{axis, largest, k}>(at, x);
}

}  // namespace tenon::ops
