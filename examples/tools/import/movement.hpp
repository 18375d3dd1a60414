// Nodes that move elements without computing: shapes, axes, parts, look-ups.
#pragma once
#include "operators.hpp"
#include "parts.hpp"

namespace importer {

/// Gives x another shape; flatten and nothing at all are special.
inline void reshape_to(const NodeView& n, const Shape& to) {
  const Shape from = n.shape(0);
  if (!to.empty() && to[0] == Extent(1) && count_of(from) == count_of(to) * Extent::symbol(0)) {
    Shape batched = to;  // the file was made with a batch of one
    batched[0] = Extent::symbol(0);
    return reshape_to(n, batched);
  }
  if (from == to) return n.alias(0, n.id(0));
  if (!(count_of(from) == count_of(to))) n.refuse("its new shape has another number of elements");
  for (std::size_t k = 1; k < to.size(); ++k)
    if (to[k].has_batch()) n.refuse("only the leading extent of its result may depend on the batch");
  const Value& v = n.in(0);
  if (v.special == Special::counting && !from.empty() && !to.empty() && to.back() == from.back()) {
    n.out(0, to, v.type).special = Special::counting;
    return;
  }
  const bool flattens = to.size() == 2 && from.size() > 2 && to[0] == from[0];
  const bool is_mean = flattens && v.call >= 0 && from.size() == 4 && from[2] == Extent(1) && from[3] == Extent(1) &&
                       n.g.calls[std::size_t(v.call)].code == "reduce_mean_keep<2, 3>($0)" && n.uses(0) == 1;
  if (is_mean) {
    Call& mean = n.g.calls[std::size_t(v.call)];
    n.out(0, to, v.type);
    Call& call = n.call("reduce_mean<2, 3>($0)", mean.inputs);
    call.cell.clear();
    n.g.calls[std::size_t(v.call)].is_dropped = true;
    return;
  }
  Operands x(n);
  const std::string operand = x.tensor(0);
  x.ids[0] = before_reshape(n, x.ids[0]);
  if (n.g[x.ids[0]].shape == to) return n.alias(0, x.ids[0]);
  n.out(0, to, n.in(0).type);
  if (flattens) n.call("flatten(" + operand + ")", x.ids).cell = "nn::Flatten";
  else n.call("reshape<" + n.g.shape(to) + ">(" + operand + ")", x.ids);
}
/// The extents that a Reshape asks for, with those that it leaves open.
inline Shape wanted_shape(const NodeView& n) {
  if (!n.in(1).whole) n.refuse("its new shape must be known");
  Shape to = *n.in(1).whole;
  const Shape& from = n.shape(0);
  Extent others(1);
  long open = -1;
  const bool is_one = !to.empty() && to[0] == Extent(1) && !from.empty() && from[0] == Extent::symbol(0);
  if (is_one && std::count(to.begin(), to.end(), Extent(-1)) == 1) to[0] = from[0];  // made with a batch of one
  for (std::size_t k = 0; k < to.size(); ++k) {
    if (to[k] == Extent(0) && !n.whole("allowzero", 0)) {
      if (k >= from.size()) n.refuse("its new shape is damaged");
      to[k] = from[k];
    }
    if (to[k] == Extent(-1)) {
      if (open >= 0) n.refuse("its new shape has two open extents");
      open = long(k);
    } else others = others * to[k];
  }
  if (open >= 0) {
    const auto rest = count_of(from).over(others);
    if (!rest) n.refuse("its new shape does not divide its elements");
    to[std::size_t(open)] = *rest;
  }
  return to;
}
inline void reshape(const NodeView& n) { reshape_to(n, wanted_shape(n)); }
inline Shape flat_shape(const NodeView& n) {
  const Shape& from = n.shape(0);
  const long axis = n.whole("axis", 1);
  const auto at = long(axis < 0 ? axis + long(from.size()) : axis);
  if (at < 0 || at > long(from.size())) n.refuse("its axis is damaged");
  return {count_of(Shape(from.begin(), from.begin() + at)), count_of(Shape(from.begin() + at, from.end()))};
}
inline void flatten(const NodeView& n) { reshape_to(n, flat_shape(n)); }
/// The axes of a Squeeze or an Unsqueeze; `rank`: with them.
inline std::set<std::size_t> axes_of_one(const NodeView& n, std::size_t rank) {
  std::set<std::size_t> axes;
  for (const long axis : n.plain_numbers("axes", 1)) axes.insert(n.axis(axis, rank));
  if (!axes.empty() || n.node.operation == "Unsqueeze") return axes;
  for (std::size_t k = 0; k < rank; ++k)
    if (n.shape(0)[k] == Extent(1)) axes.insert(k);
  return axes;
}
inline Shape unsqueezed_shape(const NodeView& n) {
  Shape shape = n.shape(0);
  for (const std::size_t axis : axes_of_one(n, shape.size() + n.plain_numbers("axes", 1).size()))
    shape.insert(shape.begin() + long(std::min(axis, shape.size())), Extent(1));
  return shape;
}
inline Shape squeezed_shape(const NodeView& n) {
  const Shape& from = n.shape(0);
  const auto axes = axes_of_one(n, from.size());
  Shape shape;
  for (std::size_t k = 0; k < from.size(); ++k)
    if (!axes.count(k)) shape.push_back(from[k]);
  return shape;
}
/// The shape that a node gives its first input, whose elements stay where they are.
inline std::optional<Shape> moved_shape(const NodeView& n) {
  const std::string& op = n.node.operation;
  if (op == "Reshape") return n.has(1) && n.in(1).whole ? std::optional(wanted_shape(n)) : std::nullopt;
  return op == "Flatten" ? flat_shape(n) : op == "Unsqueeze" ? unsqueezed_shape(n) : squeezed_shape(n);
}
inline std::string list_of(const std::set<std::size_t>& axes) {
  std::string list;
  for (const std::size_t axis : axes) list += (list.empty() ? "" : ", ") + std::to_string(axis);
  return list;
}
inline void unsqueeze(const NodeView& n) {
  const Shape shape = unsqueezed_shape(n);
  const Special special = n.in(0).special;
  const bool counts = special == Special::counting && !n.shape(0).empty() && shape.back() == n.shape(0).back();
  if (counts || n.in(0).filled) {
    const auto filled = n.in(0).filled;
    Value& v = n.out(0, shape, n.in(0).type);
    v.special = special, v.filled = filled;
    return;
  }
  Operands x(n);
  const std::string code = "expand_dims<" + list_of(axes_of_one(n, shape.size())) + ">(" + x.tensor(0) + ")";
  n.out(0, shape, n.in(0).type);
  n.call(code, x.ids);
}
inline void squeeze(const NodeView& n) {
  const Shape shape = squeezed_shape(n);
  Operands x(n);
  const std::string code = "squeeze<" + list_of(axes_of_one(n, n.rank(0))) + ">(" + x.tensor(0) + ")";
  n.out(0, shape, n.in(0).type);
  n.call(code, x.ids);
}
inline void transpose(const NodeView& n) {
  const Shape& from = n.shape(0);
  std::vector<long> order = n.list("perm", 0, 0);
  if (order.empty())
    for (std::size_t k = from.size(); k-- > 0;) order.push_back(long(k));
  Shape shape;
  std::string list;
  for (const long axis : order) {
    shape.push_back(from[n.axis(axis, from.size())]);
    list += (list.empty() ? "" : ", ") + std::to_string(axis);
  }
  if (order.size() != from.size() || std::set<long>(order.begin(), order.end()).size() != order.size())
    n.refuse("its order of axes is damaged");
  if (const Value& v = n.in(0); v.tensor && v.type == 1 && order == std::vector<long>{1, 0} && v.call < 0) {
    n.g.made.push_back(transposed(*v.tensor));  // a table that is a weight, too
    describe_constant(n.out(0, shape, 1), n.g.made.back());
    return;
  }
  for (std::size_t k = 1; k < shape.size(); ++k)
    if (shape[k].has_batch()) n.refuse("only the leading extent of its result may depend on the batch");
  std::erase_if(order, [&](long axis) { return from[n.axis(axis, from.size())] == Extent(1); });
  if (std::is_sorted(order.begin(), order.end())) return reshape_to(n, shape);  // no element moves
  Operands x(n);
  const std::string code = "transpose<" + list + ">(" + x.tensor(0) + ")";
  n.out(0, shape, n.in(0).type);
  n.call(code, x.ids);
}
inline void concat(const NodeView& n) {
  Shape shape = n.shape(0);
  const std::size_t axis = n.axis(n.whole("axis", 0), shape.size());
  Operands x(n);
  std::string list = x.tensor(0);
  for (std::size_t k = 1; k < n.ids.size(); ++k) {
    const Extent& more = n.rank(k) == shape.size() ? n.shape(k)[axis] : shape[axis];
    if (!shape[axis].is_number() || !more.is_number()) n.refuse("it joins along a dynamic axis");
    if (__builtin_add_overflow(shape[axis].factor, more.factor, &shape[axis].factor))
      n.refuse("its result is too large");
    list += ", " + x.tensor(k);
  }
  n.out(0, shape, n.in(0).type);
  n.call("concat<" + number("Axis", long(axis)) + ">(" + list + ")", x.ids);
}
/// The lengths of the pieces that a Split makes of an axis.
inline std::vector<long> lengths_of_pieces(const NodeView& n, const Extent& axis) {
  const std::size_t pieces = n.node.outputs.size();
  std::vector<long> lengths = n.plain_numbers("split", 1);
  if (!axis.is_number()) n.refuse("it splits a dynamic axis");
  long rest = axis.factor;
  const long each = (rest + long(pieces) - 1) / long(pieces);
  for (std::size_t k = 0; k < pieces && lengths.size() <= k; ++k)
    lengths.push_back(std::min(each, rest - each * long(k)));
  for (const long length : lengths) {
    if (length < 1 || length > rest) n.refuse("its pieces do not fit its input");
    rest -= length;
  }
  if (rest != 0 || lengths.size() != pieces) n.refuse("its pieces do not fit its input");
  return lengths;
}
inline void split(const NodeView& n) {
  const Shape from = n.shape(0);
  const std::size_t axis = n.axis(n.whole("axis", 0), from.size()), pieces = n.node.outputs.size();
  const std::vector<long> sizes = lengths_of_pieces(n, from[axis]);
  const bool equal = std::set<long>(sizes.begin(), sizes.end()).size() == 1;
  std::string code =
      equal ? "split<" + std::to_string(axis) + ", " + std::to_string(pieces) : "split_sizes<" + std::to_string(axis);
  for (std::size_t k = 0; !equal && k < pieces; ++k) code += ", " + number("Length", sizes[k]);
  for (std::size_t k = 0; k < pieces; ++k) {
    Shape part = from;
    part[axis] = Extent(sizes[k]);
    n.out(k, part, n.in(0).type);
  }
  n.call(code + ">($0)", {n.id(0)});
}
inline void slice(const NodeView& n) {
  const Shape from = n.shape(0);
  const auto begin = n.numbers("starts", 1), end = n.numbers("ends", 2);
  std::vector<long> axes = n.plain_numbers("axes", 3), steps = n.plain_numbers("steps", 4);
  if (!begin || !end || begin->size() != end->size()) n.refuse("its ranges are damaged");
  if (axes.empty())
    for (std::size_t k = 0; k < begin->size(); ++k) axes.push_back(long(k));
  if (steps.empty()) steps.assign(axes.size(), 1);
  if (axes.size() != begin->size() || steps.size() != begin->size()) n.refuse("its ranges are damaged");
  Shape shape = from;
  bool from_zero = true;
  std::map<std::size_t, std::string> parts;
  for (std::size_t k = 0; k < axes.size(); ++k) {
    const std::size_t axis = n.axis(axes[k], from.size());
    const Extent &b = (*begin)[k], &e = (*end)[k];
    if (steps[k] != 1) {
      if (!from[axis].is_number() || !b.is_number() || !e.is_number()) n.refuse("it takes a part of a dynamic axis");
      if (steps[k] == 0) n.refuse("its step is 0");
      parts[axis] = part_text(n, shape[axis], places_between(b.factor, e.factor, steps[k], from[axis].factor));
      from_zero = false;
      continue;
    }
    if (b == Extent(0) &&
        (e == from[axis] ||
         (e.is_number() && (e.factor >= 1l << 31 || (from[axis].is_number() && e.factor >= from[axis].factor)))))
      continue;
    if (b == Extent(0) && !e.is_number() && from[axis].is_number()) {  // the first of a table
      shape[axis] = e;
      parts[axis] = "Part{0, " + n.g.extent(e) + "}";
      continue;
    }
    if (!from[axis].is_number() || !b.is_number() || !e.is_number()) n.refuse("it takes a part of a dynamic axis");
    const long size = from[axis].factor;
    const auto place = [&](long at) { return std::clamp(at < 0 ? at + size : at, 0l, size); };
    const long first = place(b.factor), last = place(e.factor);
    if (last <= first) n.refuse("it has no element");
    shape[axis] = Extent(last - first);
    from_zero = from_zero && first == 0;
    parts[axis] = "Part{" + number("First", first) + ", " + number("End", last) + "}";
  }
  if (parts.empty()) return n.alias(0, n.id(0));
  const Value& v = n.in(0);
  const bool stays = v.special == Special::counting || v.special == Special::lower || v.special == Special::above ||
                     v.special == Special::hidden;
  if (v.filled || (from_zero && stays)) {
    const Special special = v.filled ? Special::none : v.special;
    const auto filled = v.filled;
    Value& result = n.out(0, shape, v.type);
    result.special = special, result.filled = filled;
    return;
  }
  Operands x(n);
  std::string code = "$0";
  x.tensor(0);
  for (const auto& [axis, part] : parts) code = "slice<" + std::to_string(axis) + ", " + part + ">(" + code + ")";
  n.out(0, shape, n.in(0).type);
  n.call(code, x.ids);
}
/// Repeats a tensor along axes of one element, also as samples of a batch.
inline void stretch_to(const NodeView& n, const Shape& to) {
  const Shape from = n.shape(0);
  const int type = n.in(0).type;
  Operands x(n);
  const std::string operand = x.tensor(0);
  const bool adds_samples = !to.empty() && to[0].has_batch() && (from.empty() || !from[0].has_batch());
  int zeros = -1;
  if (adds_samples) {  // only another value knows how many
    Value& v = n.g[n.g.add_value(n.node.name)];
    v.type = type, v.shape = to, v.has_shape = true, v.filled = 0;
    zeros = equal_elements(n, int(n.g.values.size()) - 1);
  }
  n.out(0, to, type);
  if (zeros < 0) n.call("broadcast_to<" + n.g.shape(to) + ">(" + operand + ")", x.ids);
  else n.call("$1 + " + operand, {x.ids[0], zeros}, 2);
}
inline void expand(const NodeView& n) {
  if (!n.in(1).whole) n.refuse("its new shape must be known");
  const Shape to = stretched(n, n.shape(0), *n.in(1).whole);
  if (to == n.shape(0)) return n.alias(0, n.id(0));
  const Value& v = n.in(0);
  if (v.special == Special::counting || v.is_scalar()) {
    const Special special = v.special;
    const auto filled = v.is_scalar() ? std::optional<double>(v.scalar()) : std::nullopt;
    Value& result = n.out(0, to, v.type);
    result.special = special, result.filled = filled;
    return;
  }
  if (batch_axis(n.shape(0)) == n.rank(0) && batch_axis(to) < to.size()) {  // a node that reads it stretches it
    Operands x(n);
    static_cast<void>(x.tensor(0));
    Value& one = n.out(0, to, n.in(0).type);
    one.is_stretched = true, one.in_code = x.ids[0], one.origin = -1;
    return;
  }
  stretch_to(n, to);
}

}  // namespace importer
