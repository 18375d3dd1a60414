// Constant folding of tensors: parts of weights, such as the rows of the queries in the weight of an attention.
#pragma once
#include "views.hpp"

namespace importer {

/// Elements first .. end - 1 of an axis.
inline ReadTensor part_along(const ReadTensor& t, std::size_t axis, long first, long end) {
  ReadTensor part{"", t.type, t.extents, {}};
  part.extents[axis] = end - first;
  std::size_t outer = 1, inner = t.bytes.size();
  for (std::size_t k = 0; k <= axis; ++k) {
    if (k < axis) outer *= std::size_t(t.extents[k]);
    inner /= std::size_t(t.extents[k]);
  }
  for (std::size_t i = 0; i < outer; ++i)
    part.bytes.append(t.bytes, (i * std::size_t(t.extents[axis]) + std::size_t(first)) * inner,
                      std::size_t(end - first) * inner);
  return part;
}
/// Output k as a constant.
inline void give_constant(const NodeView& n, std::size_t k, ReadTensor t) {
  n.g.made_bytes += t.bytes.size();
  if (n.g.made_bytes > (std::size_t(1) << 20) + 4 * n.g.given_bytes)
    n.refuse("the file computes more constants than it has weights");
  Shape shape;
  for (const std::int64_t extent : t.extents) shape.push_back(Extent(long(extent)));
  const int type = t.type;
  n.g.made.push_back(std::move(t));
  describe_constant(n.out(k, shape, type), n.g.made.back());
}
/// Whether the node takes parts of a weight; they are constants, too.
inline bool fold_tensor(const NodeView& n) {
  const std::string& op = n.node.operation;
  if (!n.has(0) || !n.in(0).tensor || n.in(0).call >= 0 || n.in(0).tensor->count() == 0) return false;
  if (op != "Slice" && op != "Split") return false;
  const ReadTensor& t = *n.in(0).tensor;
  const std::size_t rank = t.extents.size();
  if (op == "Split") {
    const std::size_t axis = n.axis(n.whole("axis", 0), rank);
    const long size = long(t.extents[axis]), count = long(n.node.outputs.size());
    std::vector<long> sizes = n.plain_numbers("split", 1);
    if (sizes.empty() && size % count == 0) sizes.assign(std::size_t(count), size / count);
    long first = 0;
    if (long(sizes.size()) != count) n.refuse("its pieces do not fit its input");
    for (std::size_t k = 0; k < sizes.size(); ++k) {
      if (sizes[k] < 1 || sizes[k] > size - first) n.refuse("its pieces do not fit its input");
      give_constant(n, k, part_along(t, axis, first, first + sizes[k]));
      first += sizes[k];
    }
    return true;
  }
  for (std::size_t k = 1; k < n.ids.size(); ++k)
    if (n.has(k) && n.in(k).whole)
      for (const Extent& each : *n.in(k).whole)
        if (!each.is_number()) return false;
  const auto begin = n.plain_numbers("starts", 1), end = n.plain_numbers("ends", 2);
  const auto steps = n.plain_numbers("steps", 4);
  auto axes = n.plain_numbers("axes", 3);
  if (axes.empty()) axes = {0};
  if (begin.size() != 1 || end.size() != 1 || axes.size() != 1 || (!steps.empty() && steps != std::vector<long>{1}))
    return false;
  const std::size_t axis = n.axis(axes[0], rank);
  const long size = long(t.extents[axis]);
  const auto place = [&](long at) { return std::clamp(at < 0 ? at + size : at, 0l, size); };
  if (place(end[0]) <= place(begin[0]) || n.in(0).special != Special::none) return false;
  if (place(begin[0]) == 0 && place(end[0]) == size) return n.alias(0, n.id(0)), true;
  give_constant(n, 0, part_along(t, axis, place(begin[0]), place(end[0])));
  return true;
}

}  // namespace importer
