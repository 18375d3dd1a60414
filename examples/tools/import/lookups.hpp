// Look-ups: rows of tables, and places of an axis.
#pragma once
#include "movement.hpp"
#include "rows.hpp"

namespace importer {

/// Known places of an axis.
inline std::vector<long> places_of(const NodeView& n, std::size_t axis) {
  const Extent extent = n.shape(0)[axis];
  if (!extent.is_number()) n.refuse("it takes places of a dynamic axis");
  std::vector<long> places;
  for (const Extent& each : *n.in(1).whole) {
    if (!each.is_number()) n.refuse("a place depends on a dynamic axis");
    places.push_back(long(n.axis(each.factor, std::size_t(extent.factor))));
  }
  if (places.empty()) n.refuse("it has no element");
  return places;
}
/// How many of them, from place `at` on, have equal distances.
inline std::size_t length_of_run(const std::vector<long>& places, std::size_t at) {
  const long step = at + 1 < places.size() ? places[at + 1] - places[at] : 0;
  std::size_t end = at + 1;
  while (step != 0 && end < places.size() && places[end] - places[end - 1] == step) ++end;
  return end - at;
}
/// Known places of an axis: a part of it, or several that are joined.
inline void places_in_steps(const NodeView& n, std::size_t axis) {
  const std::vector<long> places = places_of(n, axis);
  Shape shape = n.shape(0);
  Operands x(n);
  const std::string operand = x.tensor(0), a = std::to_string(axis);
  std::string list;
  std::size_t runs = 0;
  for (std::size_t at = 0; at < places.size(); ++runs) {
    std::size_t length = length_of_run(places, at);
    if (length == 2 && at + 2 < places.size() && std::abs(places[at + 1] - places[at]) != 1) length = 1;
    const long step = length > 1 ? places[at + 1] - places[at] : 1;
    const std::string part = part_text(n, shape[axis], {places[at], step, long(length)});
    list += (runs ? ", " : "") + ("slice<" + a + ", " + part + ">(" + operand + ")");
    at += length;
  }
  if (runs > 16) n.refuse("it takes places of a batch in more than 16 parts");
  shape[axis] = Extent(long(places.size()));
  n.out(0, shape, n.in(0).type);
  n.call(runs == 1 ? list : "concat<" + a + ">(" + list + ")", x.ids);
}
/// Rows of a table by numbers of any shape, along any of its axes.
inline void rows_along(const NodeView& n, std::size_t axis) {
  const Shape from = n.shape(0), numbers = n.shape(1);
  for (const Extent& each : from)
    if (!each.is_number()) n.refuse("it looks up known places of an axis, and not at equal distances, in a batch");
  if (n.in(1).type != 6 && n.in(1).type != 7) n.refuse("its numbers must be int32 or int64");
  Shape shape(from.begin(), from.begin() + long(axis));
  shape.insert(shape.end(), numbers.begin(), numbers.end());
  shape.insert(shape.end(), from.begin() + long(axis) + 1, from.end());
  for (std::size_t k = 1; k < shape.size(); ++k)
    if (shape[k].has_batch()) n.refuse("only the leading extent of its result may depend on the batch");
  std::string first = std::to_string(axis), back;  // the axis in front, and the others before the numbers again
  for (std::size_t k = 0; k < from.size(); ++k)
    if (k != axis) first += ", " + std::to_string(k);
  for (std::size_t k = 0; k < shape.size(); ++k) {
    const bool is_number = k >= axis && k < axis + numbers.size();
    const std::size_t place = is_number ? k - axis : k < axis ? k + numbers.size() : k;
    back += (k ? ", " : "") + std::to_string(place);
  }
  Operands x(n);
  const std::string table = x.tensor(0), rows = x.tensor(1);
  n.out(0, shape, n.in(0).type);
  if (axis == 0) n.call("gather(" + table + ", " + rows + ")", x.ids);
  else n.call("transpose<" + back + ">(gather(transpose<" + first + ">(" + table + "), " + rows + "))", x.ids);
}
inline void gather(const NodeView& n) {
  if (gather_in_samples(n)) return;
  const std::size_t axis = n.axis(n.whole("axis", 0), n.rank(0));
  if (axis == 0 && n.in(0).tensor && n.rank(0) == 2 && n.in(0).type == 1) return embedding(n);
  const Shape from = n.shape(0);
  if (n.in(1).whole && n.rank(1) == 1) {
    const std::vector<long> places = places_of(n, axis);
    const bool is_part = length_of_run(places, 0) == places.size();
    return is_part || from[0].has_batch() ? places_in_steps(n, axis) : rows_along(n, axis);
  }
  if (!n.in(1).whole || n.rank(1) != 0) return rows_along(n, axis);
  if (!from[axis].is_number()) {
    const Extent at = (*n.in(1).whole)[0];
    if (from[axis].has_batch() || !(at == Extent(0) || at == Extent(-1)))
      n.refuse("it takes a place of a dynamic axis");
  }
  Shape shape = from;
  shape.erase(shape.begin() + long(axis));
  const Extent at = (*n.in(1).whole)[0];
  std::string part;
  if (at == Extent(-1)) part = ".begin = -1";
  else {
    const long place = from[axis].is_number() ? long(n.axis(at.factor, std::size_t(from[axis].factor))) : 0;
    part = from[axis] == Extent(place + 1) ? ".begin = -1" : number("First", place) + ", " + number("End", place + 1);
  }
  Operands x(n);
  const std::string a = std::to_string(axis);
  const std::string code = "squeeze<" + a + ">(slice<" + a + ", Part{" + part + "}>(" + x.tensor(0) + "))";
  n.out(0, shape, n.in(0).type);
  n.call(code, x.ids);
}
}  // namespace importer
