// Where constants come from: numbers of the file, the shapes of values, and numbers that count.
#pragma once
#include "graph.hpp"

namespace importer {

inline void give_wholes(const NodeView& n, std::vector<Extent> values, const Shape& shape) {
  Value& v = n.out(0, shape, 7);
  v.whole = std::move(values), v.origin = -1;  // an extent of an input is none of its elements
}
inline void give_number(const NodeView& n) {
  if (const auto* const a = n.node.find("value"); a && a->has_tensor) {
    const int id = n.g.add_value(n.node.outputs[0]);
    n.g.id_of[n.node.outputs[0]] = id;
    describe_constant(n.g[id], a->tensor);
    n.g[id].scope = n.scope;
  } else if (n.node.find("value_int")) {
    give_wholes(n, {Extent(n.whole("value_int", 0))}, {});
  } else if (const auto* const list = n.node.find("value_ints")) {
    give_wholes(n, {list->whole.begin(), list->whole.end()}, {Extent(long(list->whole.size()))});
  } else if (const auto* const real = n.node.find("value_float")) {
    n.out(0, {}, 1).reals = std::vector<double>{double(real->number)};
  } else n.refuse("it is a constant without numbers");
}
inline void give_extents(const NodeView& n) {
  const Shape& shape = n.shape(0);
  const long rank = long(shape.size());
  const auto place = [&](long at) { return std::clamp(at < 0 ? at + rank : at, 0l, rank); };
  const long begin = place(n.whole("start", 0)), end = std::max(begin, place(n.whole("end", rank)));
  give_wholes(n, {shape.begin() + begin, shape.begin() + end}, {Extent(end - begin)});
}
inline void give_equal_elements(const NodeView& n) {
  if (!n.in(0).whole) n.refuse("its shape must be known");
  const auto* const a = n.node.find("value");
  const Shape shape = *n.in(0).whole;
  double value = 0;
  if (a && a->has_tensor)
    if (const auto all = elements_of(a->tensor); !all.empty()) value = all[0];
  const int type = a && a->has_tensor ? a->tensor.type : 1;
  Value& v = n.out(0, shape, type);
  v.filled = value;
  const Extent count = count_of(shape);
  if (!is_real_type(type) && count.is_number() && count.factor >= 0 && count.factor <= 64)
    v.whole.emplace(std::size_t(count.factor), Extent(a && a->has_tensor ? whole_element(a->tensor, 0, value) : 0));
}
/// 0, 1, 2, ... up to an extent that is dynamic, or large.
inline void give_counting(const NodeView& n) {
  for (std::size_t k = 0; k < 3; ++k)
    if (!n.in(k).whole || n.in(k).whole->size() != 1) n.refuse("its limits must be known");
  const Extent begin = (*n.in(0).whole)[0], end = (*n.in(1).whole)[0], step = (*n.in(2).whole)[0];
  if (!(begin == Extent(0)) || !(step == Extent(1))) n.refuse("it must count 0, 1, 2, ...");
  n.out(0, {end}, n.in(0).type).special = Special::counting;
}
/// Whether the node is one where constants come from.
inline bool give_source(const NodeView& n) {
  static const std::map<std::string, void (*)(const NodeView&)> all{{"Constant", give_number},
                                                                    {"ConstantOfShape", give_equal_elements},
                                                                    {"Range", give_counting},
                                                                    {"Shape", give_extents}};
  const auto found = all.find(n.node.operation);
  if (found == all.end()) return false;
  return found->second(n), true;
}

}  // namespace importer
