// Nodes that order elements along an axis, find places, and add them up.
#pragma once
#include "movement.hpp"

namespace importer {

/// Gives output k an int64 tensor, of places that Tenon has as int32.
inline void give_places(const NodeView& n, std::size_t k, int places) {
  const Shape shape = n.g[places].shape;
  const int made = add_call(n, "cast<std::int64_t>($0)", {places}, shape);
  n.g[made].type = 7;
  n.alias(k, made);
}
inline void place_of_extreme(const NodeView& n, const std::string& name) {
  Shape shape = n.shape(0);
  const std::size_t axis = n.axis(n.whole("axis", 0), shape.size());
  const bool keep = n.whole("keepdims", 1) != 0;
  if (n.whole("select_last_index", 0)) n.refuse("the last of equal elements is not in scope");
  if (shape[axis].has_batch()) n.refuse("it mixes the samples of a batch");
  const bool is_last = axis + 1 == shape.size() && !keep;
  if (keep) shape[axis] = Extent(1);
  else shape.erase(shape.begin() + long(axis));
  Operands x(n);
  const std::string operand = x.tensor(0);
  const std::string settings = is_last ? "" : "<" + std::to_string(axis) + (keep ? ", true>" : ">");
  const int made = add_call(n, name + settings + "(" + operand + ")", x.ids, shape);
  n.g[made].type = 6;
  give_places(n, 0, made);
}
/// The largest or smallest elements along an axis.
inline void topk(const NodeView& n) {
  Shape shape = n.shape(0);
  const std::size_t axis = n.axis(n.whole("axis", -1), shape.size());
  const auto count = n.plain_numbers("k", 1);
  if (count.size() != 1 || !shape[axis].is_number() || count[0] < 1 || count[0] > shape[axis].factor)
    n.refuse("its number of elements must be known, and at most those of a static axis");
  const bool is_largest = n.whole("largest", 1) != 0, is_last = axis + 1 == shape.size();
  shape[axis] = Extent(count[0]);
  std::string code = "topk<" + number("Count", count[0]);
  if (!is_last || !is_largest) code += ", " + std::to_string(axis);
  if (!is_largest) code += ", false";
  Operands x(n);
  code += ">(" + x.tensor(0) + ")";
  const int values = add_call(n, code, x.ids, shape), places = n.g.add_value(n.node.name);
  Value& v = n.g[places];
  v = n.g[values];
  v.type = 6;
  n.g.calls.back().outputs.push_back(places);
  n.g.needs_more = true;
  n.alias(0, values);
  if (n.node.outputs.size() > 1 && !n.node.outputs[1].empty()) give_places(n, 1, places);
}
/// Sums of the elements up to each.
inline void cumsum(const NodeView& n) {
  const Shape shape = n.shape(0);
  const auto axes = n.plain_numbers("axis", 1);
  if (axes.size() != 1) n.refuse("its axis must be known");
  const std::size_t axis = n.axis(axes[0], shape.size());
  if (shape[axis].has_batch()) n.refuse("it mixes the samples of a batch");
  const bool is_exclusive = n.whole("exclusive", 0) != 0, is_backward = n.whole("reverse", 0) != 0;
  const std::string more = is_backward    ? (is_exclusive ? ", true, true" : ", false, true")
                           : is_exclusive ? ", true"
                                          : "";
  Operands x(n);
  const std::string code = "cumsum<" + std::to_string(axis) + more + ">(" + x.tensor(0) + ")";
  n.out(0, shape, n.in(0).type);
  n.call(code, x.ids);
  n.g.needs_more = true;
}

/// Numbers of classes as rows with one element that differs. Tenon throws for a number outside of the rows, for which
/// ONNX has no such element.
inline void one_hot(const NodeView& n) {
  Shape shape = n.shape(0);
  const auto depth = n.plain_numbers("depth", 1);
  const std::size_t axis = n.axis(n.whole("axis", -1), shape.size() + 1);
  const Value& values = n.in(2);
  std::vector<double> two = values.reals.value_or(std::vector<double>());
  if (values.whole)
    for (const Extent& each : *values.whole) two.push_back(each.is_number() ? double(each.factor) : 0.5);
  if (depth.size() != 1 || depth[0] < 1 || depth[0] > 1l << 30 || two.size() != 2)
    n.refuse("its depth and its two values must be known");
  if (axis != shape.size()) n.refuse("only classes along a new last axis are in scope");
  if (n.in(0).type != 6 && n.in(0).type != 7) n.refuse("its numbers must be int32 or int64");
  const bool is_usual = two[0] == 0 && two[1] == 1, is_float = values.type == 1;
  if (!is_float && !is_usual) n.refuse("values other than 0 and 1 are in scope in float32 alone");
  shape.push_back(Extent(depth[0]));
  std::string code = "one_hot<" + number("Depth", depth[0]);
  if (!is_float) code += ", " + type_text(n, values.type);
  else if (!is_usual) code += ", float, " + real_text(two[1]) + ", " + real_text(two[0]);
  Operands x(n);
  code += ">(" + x.tensor(0) + ")";
  n.out(0, shape, values.type);
  n.call(code, x.ids);
}
/// The axis of a node that reads or writes elements by their number along it; `numbers` is the input with these.
inline std::size_t axis_of_lines(const NodeView& n, std::size_t numbers) {
  const Shape &x = n.shape(0), &at = n.shape(numbers);
  const std::size_t axis = n.axis(n.whole("axis", 0), x.size());
  bool fits = at.size() == x.size();
  for (std::size_t k = 0; fits && k < x.size(); ++k) fits = k == axis || x[k] == at[k];
  if (!fits) n.refuse("only as many numbers as its tensor has elements on all other axes are in scope");
  if (!x[axis].is_number()) n.refuse("it takes elements of a dynamic axis");
  return axis;
}
inline void gather_elements(const NodeView& n) {
  const std::size_t axis = axis_of_lines(n, 1);
  const Shape shape = n.shape(1);
  Operands x(n);
  const std::string from = x.tensor(0), numbers = x.tensor(1);
  n.out(0, shape, n.in(0).type);
  n.call("gather_elements<" + std::to_string(axis) + ">(" + from + ", " + numbers + ")", x.ids);
  n.g.needs_more = true;
}
inline void scatter_elements(const NodeView& n) {
  const std::size_t axis = axis_of_lines(n, 1);
  const std::string reduction = n.word("reduction", "none");
  if (!std::set<std::string>{"none", "add", "mul", "max", "min"}.count(reduction))
    n.refuse("its reduction is not in scope");
  if (!(n.shape(2) == n.shape(1))) n.refuse("its updates do not fit its numbers");
  const Shape shape = n.shape(0);
  Operands x(n);
  const std::string to = x.tensor(0), numbers = x.tensor(1), updates = x.tensor(2);
  const std::string how = reduction == "none" ? "" : ", ops::ScatterReduction::" + reduction;
  n.out(0, shape, n.in(0).type);
  n.call("tensor_scatter_elements<" + std::to_string(axis) + how + ">(" + to + ", " + numbers + ", " + updates + ")",
         x.ids);
  n.g.needs_more = true;
}

}  // namespace importer
