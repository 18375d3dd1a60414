// Constant folding: what the file computes of shapes and of small constants is computed here.
#pragma once
#include "elements.hpp"
#include "movement.hpp"
#include "parts.hpp"

namespace importer {

class Folding {
 public:
  /// Whether the node is folded: then its outputs are known.
  static bool fold(const NodeView& n) {
    if (!is_folded(n)) return false;
    for (const std::string& output : n.node.outputs)
      if (const auto made = n.g.id_of.find(output); made != n.g.id_of.end() && n.g[made->second].is_constant())
        n.g[made->second].origin = -1;  // an extent of an input is none of its elements
    return true;
  }
  /// The shape that a node gives its first input, whose elements stay where they are.
  static std::optional<Shape> moved_shape(const NodeView& n, const std::string& op) {
    const Shape& from = n.shape(0);
    if (op == "Reshape") return n.has(1) && n.in(1).whole ? std::optional(wanted_shape(n)) : std::nullopt;
    if (op == "Flatten") return flat_shape(n);
    if (op == "Unsqueeze") {
      const auto places = places_of(n, from.size() + n.plain_numbers("axes", 1).size());
      Shape to = from;
      for (const std::size_t place : places) to.insert(to.begin() + long(std::min(place, to.size())), Extent(1));
      return to;
    }
    if (op != "Squeeze") return std::nullopt;
    const auto places = places_of(n, from.size());
    const bool is_all = n.plain_numbers("axes", 1).empty();
    Shape to;
    for (std::size_t k = 0; k < from.size(); ++k)
      if (is_all ? !(from[k] == Extent(1)) : !places.count(k)) to.push_back(from[k]);
    return to;
  }

 private:
  static bool is_folded(const NodeView& n) {
    const std::string& op = n.node.operation;
    if (n.node.outputs.empty()) return false;
    if (op == "Constant") return constant(n);
    if (op == "Shape") return shape_of(n);
    if (op == "ConstantOfShape") return constant_of_shape(n);
    if (op == "Range") return range(n);
    return false;
  }
  using Wholes = std::vector<Extent>;
  static void give(const NodeView& n, Wholes values, const Shape& shape, int type) {
    n.out(0, shape, type).whole = std::move(values);
  }
  static bool constant(const NodeView& n) {
    if (const auto* const a = n.node.find("value"); a && a->has_tensor) {
      const int id = n.g.add_value(n.node.outputs[0]);
      n.g.id_of[n.node.outputs[0]] = id;
      describe_constant(n.g[id], a->tensor);
      n.g[id].scope = n.scope;
      return true;
    }
    if (n.node.find("value_int")) return give(n, {Extent(n.whole("value_int", 0))}, {}, 7), true;
    if (const auto* const a = n.node.find("value_ints"))
      return give(n, Wholes(a->whole.begin(), a->whole.end()), {Extent(long(a->whole.size()))}, 7), true;
    if (const auto* const a = n.node.find("value_float")) {
      n.out(0, {}, 1).reals = std::vector<double>{double(a->number)};
      return true;
    }
    n.refuse("it is a constant without numbers");
  }
  static bool shape_of(const NodeView& n) {
    const Shape& shape = n.shape(0);
    const long rank = long(shape.size());
    const auto place = [&](long at) { return std::clamp(at < 0 ? at + rank : at, 0l, rank); };
    const long begin = place(n.whole("start", 0)), end = std::max(begin, place(n.whole("end", rank)));
    give(n, Wholes(shape.begin() + begin, shape.begin() + end), {Extent(end - begin)}, 7);
    return true;
  }
  static bool constant_of_shape(const NodeView& n) {
    if (!n.in(0).whole) n.refuse("its shape must be known");
    const auto* const a = n.node.find("value");
    const Wholes shape = *n.in(0).whole;
    double value = 0;
    if (a && a->has_tensor)
      if (const auto all = elements_of(a->tensor); !all.empty()) value = all[0];
    const int type = a && a->has_tensor ? a->tensor.type : 1;
    Value& v = n.out(0, shape, type);
    v.filled = value;
    const Extent count = count_of(shape);
    if (!is_real_type(type) && count.is_number() && count.factor >= 0 && count.factor <= 64)
      v.whole = Wholes(std::size_t(count.factor), Extent(a && a->has_tensor ? whole_element(a->tensor, 0, value) : 0));
    return true;
  }
  static bool range(const NodeView& n) {
    for (int k = 0; k < 3; ++k)
      if (!n.in(std::size_t(k)).whole || n.in(std::size_t(k)).whole->size() != 1) n.refuse("its limits must be known");
    const Extent begin = (*n.in(0).whole)[0], end = (*n.in(1).whole)[0], step = (*n.in(2).whole)[0];
    if (!(begin == Extent(0)) || !(step == Extent(1))) n.refuse("it must count 0, 1, 2, ...");
    Value& v = n.out(0, {end}, n.in(0).type);
    v.special = Special::counting;
    if (end.is_number() && end.factor >= 0 && end.factor <= 64) {
      v.whole.emplace();
      for (long i = 0; i < end.factor; ++i) v.whole->push_back(Extent(i));
    }
    return true;
  }

  static std::set<std::size_t> places_of(const NodeView& n, std::size_t rank) {
    std::set<std::size_t> places;
    for (const long axis : n.plain_numbers("axes", 1)) places.insert(n.axis(axis, rank));
    return places;
  }
};

}  // namespace importer
