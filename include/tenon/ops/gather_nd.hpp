// Parts of a tensor by several numbers each, and tensors made of such parts: gather_nd, scatter_nd, tensor_scatter_*.
#pragma once
#include <tenon/ops/reshape.hpp>
#include <tenon/ops/scatter_rows.hpp>
#include <tenon/ops/slice.hpp>
#include <tenon/ops/sub.hpp>

namespace tenon::inline TENON_ABI::ops {

/// The place of a part of a tensor from its numbers along the first axes, one axis at a time:  place * extent + number.
/// Operands: the place along the axes before, unless this is the first one, and the numbers. Not for users.
///
/// numbers     int32 or int64. Negative ones count from the end. Throws ValueError for a number outside of the axis
struct FlatNumber : Operator<FlatNumber, "FlatNumber"> {
  struct Config {
    int extent = 0, axis = 0, fault = 0, columns = 0, rank = 0;
  };
  enum Fault : int { none, too_many_columns, depends_on_n, too_many_places };
  static constexpr None derivative{};
  static constexpr bool gives_places = true;  // no place is outside, or it would have thrown
  static constexpr TensorType shape(const OperandTypes& in, const Config& c, Sentence& error) {
    const TensorType& numbers = in[in.count - 1];
    if (c.fault == too_many_columns)
      error << "gather_nd or scatter_nd got numbers " << numbers << ", one for each of " << c.columns
            << " axes, for a tensor of rank " << c.rank;
    else if (c.fault == depends_on_n)
      error << "gather_nd or scatter_nd by " << numbers
            << ": the leading extent of the tensor depends on n, it needs a "
            << "fixed one";
    else if (numbers.dtype != Dtype::int32 && numbers.dtype != Dtype::int64)
      error << "gather_nd and scatter_nd need numbers of int32 or int64, got " << tenon::name(numbers.dtype) << " "
            << numbers;
    else if (c.fault == too_many_places && numbers.dtype == Dtype::int32)
      error << "gather_nd or scatter_nd by int32 " << numbers << ": so large a tensor needs numbers of int64";
    return numbers;
  }
  static constexpr IndexRange indices(const OperandTypes& in, const Config& c) {
    constexpr const char* places[]{"places along axis 0 that are named by", "places along axis 1 that are named by",
                                   "places along axis 2 that are named by", "places along axis 3 that are named by",
                                   "places along axis 4 that are named by", "places along axis 5 that are named by"};
    return {.operand = in.count - 1,
            .low = -c.extent,
            .high = c.extent,
            .among = in.count - 1,
            .have = places[c.axis],
            .advice = "give the tensor a larger extent"};
  }
};

namespace detail {
/// How numbers [.., columns] name parts of a tensor x.
constexpr FlatNumber::Config flat_config(const TensorType& x, const TensorType& numbers, int axis) {
  FlatNumber::Config c{axis < x.rank ? x[axis] : 0, axis, FlatNumber::none, numbers.rank ? numbers.last() : 0, x.rank};
  if (numbers.rank == 0 || c.columns < 1 || c.columns > x.rank) c.fault = FlatNumber::too_many_columns;
  else if (x.batched()) c.fault = FlatNumber::depends_on_n;
  else if (x.span(0, c.columns) > 0x7fffffff) c.fault = FlatNumber::too_many_places;
  return c;
}
/// x with its first `axes` axes as one.
constexpr Reshape::Config rows_of(const TensorType& x, int axes) { return merged(x, 0, axes); }
/// The numbers of one axis of all, or 0-based places so far with those of the next axes.
template <TensorType x, int axis, class Numbers, class Places>
constexpr auto flat_from(const std::source_location& at, const Numbers& numbers, const Places& places) {
  if constexpr (axis == Numbers::dims.last() || is_broken<Places>) return places;
  else {
    const auto column = squeeze<-1>(slice<-1, Part{axis, axis + 1}>(numbers, at), at);
    return flat_from<x, axis + 1>(at, numbers,
                                  apply<FlatNumber, flat_config(x, Numbers::dims, axis)>(at, places, column));
  }
}
template <TensorType x, class Numbers>
constexpr auto flat_numbers(const std::source_location& at, const Numbers& numbers) {
  constexpr FlatNumber::Config first = flat_config(x, Numbers::dims, 0);
  if constexpr (first.fault == FlatNumber::too_many_columns || first.fault == FlatNumber::depends_on_n)
    return apply<FlatNumber, first>(at, numbers);
  else {
    const auto column = squeeze<-1>(slice<-1, Part{0, 1}>(numbers, at), at);
    return flat_from<x, 1>(at, numbers, apply<FlatNumber, first>(at, column));
  }
}
template <RowUpdate update, class X, class Numbers, class Rows>
constexpr auto update_rows(const std::source_location& at, const X& x, const Numbers& numbers, const Rows& rows) {
  if constexpr (is_broken<X>) return x;
  else if constexpr (is_broken<Numbers>) return numbers;
  else if constexpr (is_broken<Rows>) return rows;
  else {
    const auto flat = flat_numbers<type_of_value<X>>(at, numbers);
    if constexpr (is_broken<std::remove_cvref_t<decltype(flat)>>) return flat;
    else {
      const auto table = apply<Reshape, rows_of(type_of_value<X>, Numbers::dims.last())>(at, x);
      const auto changed = apply<UpdateRows, UpdateRows::Config{update}>(at, flat, rows, table);
      if constexpr (is_broken<std::remove_cvref_t<decltype(changed)>>) return changed;
      else return apply<Reshape, Reshape::to(type_of_value<X>)>(at, changed);
    }
  }
}
}  // namespace detail

/// Parts of x by number along its first axes:  y[i, ...] = x[numbers[i, 0], .., numbers[i, K - 1], ...]. x is static.
/// MindSpore's GatherNd.
template <Operand X, Operand Numbers>
constexpr auto gather_nd(const X& x, const Numbers& numbers,
                         std::source_location at = std::source_location::current()) {
  if constexpr (is_broken<X>) return x;
  else if constexpr (is_broken<Numbers>) return numbers;
  else {
    const auto flat = detail::flat_numbers<detail::type_of_value<X>>(at, numbers);
    if constexpr (is_broken<std::remove_cvref_t<decltype(flat)>>) return flat;
    else
      return gather(apply<Reshape, detail::rows_of(detail::type_of_value<X>, Numbers::dims.last())>(at, x), flat, at);
  }
}
/// Zeros of Shape S, to which parts are added by number along the first axes: `scatter_nd<Shape<6, 3>>(numbers,
/// parts)`. MindSpore's ScatterNd. Parts of one place are added in the order of the gradient of gather.
template <class S, Operand Numbers, Operand Parts>
constexpr auto scatter_nd(const Numbers& numbers, const Parts& parts,
                          std::source_location at = std::source_location::current()) {
  if constexpr (is_broken<Parts>) return parts;
  else if constexpr (is_broken<Numbers>) return numbers;
  else {
    const auto flat = detail::flat_numbers<S::dims>(at, numbers);
    if constexpr (is_broken<std::remove_cvref_t<decltype(flat)>>) return flat;
    else {
      constexpr int rows = int(S::dims.span(0, Numbers::dims.last()));
      const auto sum = apply<UnsortedSegmentSum, UnsortedSegmentSum::Config{rows}>(at, flat, parts);
      if constexpr (is_broken<std::remove_cvref_t<decltype(sum)>>) return sum;
      else return apply<Reshape, Reshape::to(S::dims)>(at, sum);
    }
  }
}
/// x plus parts by number along its first axes: `tensor_scatter_add(x, numbers, parts)`. MindSpore's TensorScatterAdd.
template <Operand X>
constexpr auto tensor_scatter_add(const X& x, const Operand auto& numbers, const Operand auto& parts,
                                  std::source_location at = std::source_location::current()) {
  if constexpr (is_broken<X>) return x;
  else return add(x, scatter_nd<typename X::shape_type>(numbers, parts, at), at);
}
/// x minus parts by number along its first axes. MindSpore's TensorScatterSub.
template <Operand X>
constexpr auto tensor_scatter_sub(const X& x, const Operand auto& numbers, const Operand auto& parts,
                                  std::source_location at = std::source_location::current()) {
  if constexpr (is_broken<X>) return x;
  else return sub(x, scatter_nd<typename X::shape_type>(numbers, parts, at), at);
}
/// x with other parts by number along its first axes; of parts for one place the last one. PyTorch's index_put.
constexpr auto tensor_scatter_update(const Operand auto& x, const Operand auto& numbers, const Operand auto& parts,
                                     std::source_location at = std::source_location::current()) {
  return detail::update_rows<RowUpdate::replace>(at, x, numbers, parts);
}
/// x with the larger of each element and those of parts by number. NaN is larger than every number.
constexpr auto tensor_scatter_max(const Operand auto& x, const Operand auto& numbers, const Operand auto& parts,
                                  std::source_location at = std::source_location::current()) {
  return detail::update_rows<RowUpdate::largest>(at, x, numbers, parts);
}
/// x with the smaller of each element and those of parts by number. NaN is smaller than every number.
constexpr auto tensor_scatter_min(const Operand auto& x, const Operand auto& numbers, const Operand auto& parts,
                                  std::source_location at = std::source_location::current()) {
  return detail::update_rows<RowUpdate::smallest>(at, x, numbers, parts);
}

}  // namespace tenon::ops
