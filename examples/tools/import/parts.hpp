// Parts of axes, with steps, and what they leave of a constant that the file knows.
#pragma once
#include "graph.hpp"

namespace importer {

/// Which elements of an axis are taken: `count`, each `step` behind the one before.
struct Places {
  long first = 0, step = 1, count = 0;
  /// The place after the last one. Downwards it is -1 where the last one is the first of the axis.
  long end() const { return first + (count - 1) * step + (step < 0 ? -1 : 1); }
};
/// The elements begin, begin + step, ... before `end`, as Slice has them.
inline Places places_between(long begin, long end, long step, long size) {
  const long low = step < 0 ? -1 : 0, high = step < 0 ? size - 1 : size;
  const auto place = [&](long at) { return std::clamp(at < 0 ? at + size : at, low, high); };
  const long stride = step < 0 ? -std::max(step, -size) : std::min(step, size);
  const long first = place(begin), distance = step < 0 ? first - place(end) : place(end) - first;
  return {first, step < 0 ? -stride : stride, distance <= 0 || stride <= 0 ? 0 : (distance + stride - 1) / stride};
}

/// Places of an axis in code, "Part{...}"; its extent becomes their number.
inline std::string part_text(const NodeView& n, Extent& axis, Places places) {
  if (places.count < 1) n.refuse("it has no element");
  if (places.count == 1) places.step = 1;
  axis = Extent(places.count);
  std::string part = "Part{.begin = " + number("First", places.first);
  if (places.end() >= 0) part += ", .end = " + number("End", places.end());
  if (places.step != 1) part += ", .step = " + number("Step", places.step);
  return part + "}";
}

}  // namespace importer
