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

}  // namespace importer
