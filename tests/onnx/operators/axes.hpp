// Lists of numbers as template arguments.
#pragma once
#include <tenon/more.hpp>

#include "../settings.hpp"

namespace onnx {
namespace ops = tenon::ops;

/// f.operator()<list[0], list[1], ...>()
template <List list, class F>
constexpr auto spread(F f) {
  return [&]<std::size_t... i>(std::index_sequence<i...>) {
    return f.template operator()<int(list.value[i])...>();
  }(std::make_index_sequence<std::size_t(list.count)>());
}
template <List shape>
constexpr auto reshaped(const auto& x) {
  return spread<shape>([&]<int... extent>() { return ops::reshape<tenon::Shape<extent...>>(x); });
}
template <class X>
inline constexpr int rank = std::remove_cvref_t<X>::dims.rank;
template <class X>
inline constexpr tenon::TensorType type = std::remove_cvref_t<X>::dims;
template <class X>
using Element = typename std::remove_cvref_t<X>::type;

/// All axes from `first` up to `last`, without it.
consteval List range(int first, int last) {
  List axes;
  for (int axis = first; axis < last; ++axis) axes.value[axes.count++] = axis;
  return axes;
}
consteval List shape_of(const tenon::TensorType& t) {
  List shape;
  for (int axis = 0; axis < t.rank; ++axis) shape.value[shape.count++] = t.extent[axis];
  return shape;
}
/// The shape that ONNX's broadcasting gives two tensors.
consteval List broadcast_shape(const List& a, const List& b) {
  List shape;
  shape.count = a.count > b.count ? a.count : b.count;
  for (int k = 1; k <= shape.count; ++k) {
    const long x = k <= a.count ? a.value[a.count - k] : 1, y = k <= b.count ? b.value[b.count - k] : 1;
    shape.value[shape.count - k] = x == 1 ? y : x;
  }
  return shape;
}
template <List shape>
constexpr auto broadcast(const auto& x) {
  return spread<shape>([&]<int... extent>() { return ops::broadcast_to<tenon::Shape<extent...>>(x); });
}

}  // namespace onnx
