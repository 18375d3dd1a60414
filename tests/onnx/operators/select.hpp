// Elements by their numbers.
#pragma once
#include "axes.hpp"

namespace onnx {

template <class Node, class X, class Numbers>
constexpr auto Gather(const X& x, const Numbers& numbers) {
  constexpr int axis = axis_of(whole<Node>("axis", 0), rank<X>);
  const auto inside = ops::select(ops::less(numbers, 0), ops::add(numbers, int(type<X>.extent[axis])), numbers);
  if constexpr (axis == 0) return ops::gather(x, inside);
  else {
    // the axis first, then back
    const auto rows = ops::gather(ops::swap_axes<0, axis>(x), inside);
    return ops::swap_axes<0, axis>(rows);
  }
}

template <class Node, class X, class Numbers>
constexpr auto GatherElements(const X& x, const Numbers& numbers) {
  constexpr int axis = axis_of(whole<Node>("axis", 0), rank<X>);
  const auto inside = ops::select(ops::less(numbers, 0), ops::add(numbers, int(type<X>.extent[axis])), numbers);
  return ops::gather_elements<axis>(x, inside);
}
template <class Node, class X, class Numbers>
constexpr auto ScatterElements(const X& x, const Numbers& numbers, const auto& elements) {
  constexpr int axis = axis_of(whole<Node>("axis", 0), rank<X>);
  constexpr std::string_view how = text<Node>("reduction", "none");
  using enum ops::ScatterReduction;
  const auto inside = ops::select(ops::less(numbers, 0), ops::add(numbers, int(type<X>.extent[axis])), numbers);
  constexpr ops::ScatterReduction reduction = how == "add"   ? add
                                              : how == "max" ? max
                                              : how == "min" ? min
                                              : how == "mul" ? mul
                                                             : none;
  return ops::tensor_scatter_elements<axis, reduction>(x, inside, elements);
}
template <class Node>
constexpr auto Scatter(const auto& x, const auto& numbers, const auto& elements) {
  return ScatterElements<Node>(x, numbers, elements);
}
template <class>
constexpr auto GatherND(const auto& x, const auto& numbers) {
  return ops::gather_nd(x, numbers);
}
template <class Node>
constexpr auto ScatterND(const auto& x, const auto& numbers, const auto& parts) {
  constexpr std::string_view how = text<Node>("reduction", "none");
  if constexpr (how == "add") return ops::tensor_scatter_add(x, numbers, parts);
  else if constexpr (how == "max") return ops::tensor_scatter_max(x, numbers, parts);
  else if constexpr (how == "min") return ops::tensor_scatter_min(x, numbers, parts);
  else return ops::tensor_scatter_update(x, numbers, parts);
}
template <class Node, class Numbers>
constexpr auto OneHot(const Numbers& numbers, const auto&, const auto& values) {
  constexpr int depth = int(constant<Node>(1)[0] != 0 ? constant<Node>(1)[0] : long(constant_number<Node>(1)));
  constexpr int axis = axis_of(whole<Node>("axis", -1), rank<Numbers> + 1);
  const auto whole_numbers = ops::cast<std::int32_t>(numbers);
  const auto inside = ops::select(ops::less(whole_numbers, 0), ops::add(whole_numbers, depth), whole_numbers);
  const auto ones = ops::one_hot<depth, bool>(inside);
  const auto off = ops::slice<0, tenon::Part{0, 1}>(values), on = ops::slice<0, tenon::Part{1, 2}>(values);
  const auto coded = ops::select(ones, on, off);
  constexpr List order = [] {
    List result;
    result.count = rank<Numbers> + 1;
    for (int to = 0, from = 0; to < result.count; ++to) result.value[to] = to == axis ? rank<Numbers> : from++;
    return result;
  }();
  return spread<order>([&]<int... k>() { return ops::transpose<k...>(coded); });
}
template <class Node, class X>
constexpr auto EyeLike(const X& x) {
  constexpr int k = int(whole<Node>("k", 0));
  const auto ones = ops::ones_like(x);
  const auto diagonal = ops::triu<k>(ops::tril<k>(ones));
  constexpr long to = whole<Node>("dtype", 0);
  if constexpr (to == 1) return ops::cast<float>(diagonal);
  else if constexpr (to == 11) return ops::cast<double>(diagonal);
  else return diagonal;
}

}  // namespace onnx
