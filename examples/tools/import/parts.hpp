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

/// A part of a constant.
struct Taken {
  std::vector<Extent> elements;
  Shape shape;
};
/// The elements at these places of axes that are `strides` apart.
inline Taken taken(const std::vector<Extent>& x, const std::vector<Places>& places, const std::vector<long>& strides) {
  Taken result;
  long count = 1;
  for (const Places& each : places) result.shape.push_back(Extent(each.count)), count *= each.count;
  for (long i = 0; i < count; ++i) {
    long rest = i, at = 0;
    for (std::size_t k = places.size(); k-- > 0; rest /= places[k].count)
      at += (places[k].first + rest % places[k].count * places[k].step) * strides[k];
    result.elements.push_back(x[std::size_t(at)]);
  }
  return result;
}
/// All places of each axis, and how far apart its elements are; false if the shape does not have these elements.
inline bool find_places(const Shape& shape, const std::vector<Extent>& x, std::vector<Places>& places,
                        std::vector<long>& strides) {
  if (!(count_of(shape) == Extent(long(x.size())))) return false;
  strides.assign(shape.size(), 1);
  for (const Extent& each : shape) {
    if (!each.is_number()) return false;
    places.push_back({0, 1, each.factor});
  }
  for (std::size_t k = shape.size(); k-- > 1;) strides[k - 1] = strides[k] * shape[k].factor;
  return true;
}
/// What a Slice leaves of a constant; nothing if its ranges are damaged, or depend on a dynamic axis.
inline std::optional<Taken> sliced(const NodeView& n, const std::vector<Extent>& x) {
  const auto is_dynamic = [](const Extent& each) { return !each.is_number(); };
  for (const std::size_t k : {1u, 2u})
    if (n.has(k) && n.in(k).whole && std::any_of(n.in(k).whole->begin(), n.in(k).whole->end(), is_dynamic))
      return std::nullopt;
  const auto begin = n.plain_numbers("starts", 1), end = n.plain_numbers("ends", 2);
  auto axes = n.plain_numbers("axes", 3), steps = n.plain_numbers("steps", 4);
  if (axes.empty())
    for (std::size_t k = 0; k < begin.size(); ++k) axes.push_back(long(k));
  if (steps.empty()) steps.assign(begin.size(), 1);
  std::vector<Places> places;
  std::vector<long> strides;
  if (end.size() != begin.size() || axes.size() != begin.size() || steps.size() != begin.size() ||
      !find_places(n.shape(0), x, places, strides))
    return std::nullopt;
  for (std::size_t k = 0; k < axes.size(); ++k) {
    const std::size_t axis = n.axis(axes[k], places.size());
    if (steps[k] == 0) return std::nullopt;
    places[axis] = places_between(begin[k], end[k], steps[k], n.shape(0)[axis].factor);
  }
  return taken(x, places, strides);
}
/// A constant with its axes in the order of a Transpose.
inline std::optional<Taken> reordered(const NodeView& n, const std::vector<Extent>& x) {
  std::vector<Places> places, own;
  std::vector<long> strides, apart, order = n.list("perm", 0, 0);
  if (!find_places(n.shape(0), x, own, apart)) return std::nullopt;
  if (order.empty())
    for (std::size_t k = own.size(); k-- > 0;) order.push_back(long(k));
  if (order.size() != own.size() || std::set<long>(order.begin(), order.end()).size() != order.size())
    return std::nullopt;
  for (const long axis : order) {
    const std::size_t k = n.axis(axis, own.size());
    places.push_back(own[k]), strides.push_back(apart[k]);
  }
  return taken(x, places, strides);
}

}  // namespace importer
