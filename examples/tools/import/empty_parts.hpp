// Slices without an element, and the Concat that reads them. Phi-3 cuts off the features of a head that its rotary
// positions leave alone, and joins them again. Where they turn all features, there are none to cut off.
#pragma once
#include "movement.hpp"

namespace importer {

inline bool is_empty(const Value& v) {
  return v.has_shape && std::find(v.shape.begin(), v.shape.end(), Extent(0)) != v.shape.end();
}
/// Whether a Slice takes no element of an axis. Its result has no code.
inline bool takes_nothing(const NodeView& n) {
  if (n.node.operation != "Slice" || !n.has(0) || !n.in(0).has_shape || n.in(0).is_constant()) return false;
  for (std::size_t k = 1; k < n.ids.size(); ++k)
    if (n.has(k) && !n.in(k).whole) return false;
  Shape shape = n.shape(0);
  const auto begin = n.numbers("starts", 1), end = n.numbers("ends", 2);
  const std::vector<long> axes = n.plain_numbers("axes", 3), steps = n.plain_numbers("steps", 4);
  if (!begin || !end || begin->size() != 1 || end->size() != 1 || axes.size() != 1) return false;
  const Extent first = (*begin)[0], last = (*end)[0];
  Extent& size = shape[n.axis(axes[0], shape.size())];
  if (!first.is_number() || !last.is_number() || !size.is_number() || (steps.size() == 1 && steps[0] != 1) ||
      places_between(first.factor, last.factor, 1, size.factor).count > 0)
    return false;
  size = Extent(0);
  n.out(0, shape, n.in(0).type);
  return true;
}
/// A Concat without its inputs that have no element; nothing if all have some.
inline std::optional<ReadNode> without_empty(const NodeView& n) {
  if (n.node.operation != "Concat") return std::nullopt;
  ReadNode node = n.node;
  std::size_t kept = 0;
  for (std::size_t k = 0; k < n.ids.size(); ++k)
    if (!n.has(k) || !is_empty(n.in(k)) || n.in(k).is_constant()) node.inputs[kept++] = n.node.inputs[k];
  if (kept == n.ids.size() || kept == 0) return std::nullopt;
  node.inputs.resize(kept);
  if (kept == 1) node.operation = "Identity";
  return node;
}

}  // namespace importer
