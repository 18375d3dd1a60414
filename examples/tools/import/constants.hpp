// Constant folding of tensors: parts of weights, such as the rows of the queries in the weight of an attention.
#pragma once
#include "movement.hpp"

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
/// Whether a weight may become another one: no other node reads it, or it is none that is trained.
inline bool may_change(const NodeView& n, std::size_t k) {
  const Value& v = n.in(k);
  return v.tensor && v.call < 0 && v.special == Special::none && v.tensor->count() > 1 &&
         (!is_weight(*v.tensor) || n.uses(k) == 1);
}
/// The sum of two weights that nothing else reads, such as the two biases of a recurrent layer: one weight.
inline bool fold_sum(const NodeView& n) {
  if (n.node.operation != "Add" || n.ids.size() != 2 || !n.has(0) || !n.has(1)) return false;
  if (!may_change(n, 0) || !may_change(n, 1) || n.id(0) == n.id(1)) return false;
  const ReadTensor &a = *n.in(0).tensor, &b = *n.in(1).tensor;
  if (!is_weight(a) || !is_weight(b) || a.extents != b.extents) return false;
  ReadTensor made{a.name, a.type, a.extents, std::string(a.bytes.size(), '\0')};
  for (std::size_t at = 0; at < a.bytes.size(); at += sizeof(float)) {
    float x = 0, y = 0;
    std::memcpy(&x, a.bytes.data() + at, sizeof x), std::memcpy(&y, b.bytes.data() + at, sizeof y);
    const float sum = x + y;
    std::memcpy(made.bytes.data() + at, &sum, sizeof sum);
  }
  return give_constant(n, 0, std::move(made)), true;
}
/// A Dense cell of a constant, which stays one to be trained. PyTorch's exporter gives its weight such a name. Whether
/// the node is that.
inline bool dense_of_constant(const NodeView& n) {
  if (n.node.operation != "MatMul" || n.ids.size() != 2 || !n.has(0) || !n.has(1)) return false;
  const ReadTensor* const weight = n.in(1).tensor;
  const bool is_transposed = weight && weight->name.starts_with("onnx::MatMul_") && weight->extents.size() == 2;
  if (!is_transposed || weight->type != 1 || !n.in(0).tensor || n.in(0).type != 1 || n.rank(0) < 2) return false;
  NodeView inner(n.g, n.node, n.scope);
  inner.ids[0] = Operands::readable(n, n.id(0));
  dense(inner, false, nullptr);
  return true;
}
/// Whether the node takes parts of a weight; they are constants, too.
inline bool fold_tensor(const NodeView& n) {
  const std::string& op = n.node.operation;
  if (fold_sum(n)) return true;
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
