// Views: axes that a file moves, cuts, and joins before something is computed along them. PyTorch's attention and its
// sequences with the steps first are made of such nodes. Only the result has code.
#pragma once
#include "code.hpp"

namespace importer {
using Pieces = std::vector<Piece>;

inline Extent extent_of(const Pieces& pieces) {
  Extent all(1);
  for (const Piece& p : pieces) all = all * p.extent;
  return all;
}
inline Shape shape_of(const View& v) {
  Shape shape;
  for (const Pieces& pieces : v.dims) shape.push_back(extent_of(pieces));
  return shape;
}
inline Pieces flat(const View& v) {
  Pieces all;
  for (const Pieces& pieces : v.dims) all.insert(all.end(), pieces.begin(), pieces.end());
  return all;
}
/// Pieces that lie next to each other in the base are one.
inline Pieces joined(const Pieces& pieces) {
  Pieces result;
  for (const Piece& p : pieces) {
    if (p.extent == Extent(1)) continue;
    Piece* const before = result.empty() ? nullptr : &result.back();
    if (before && before->axis == p.axis && p.extent.is_number() && before->inner == p.inner * p.extent.factor)
      before->inner = p.inner, before->extent = before->extent * p.extent;
    else result.push_back(p);
  }
  return result;
}
/// A value as a view of itself.
inline View plain_view(const Graph& g, int base) {
  View v{base, {}};
  const Shape& shape = g[base].shape;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) v.dims.push_back(joined({{axis, 1, shape[axis]}}));
  v.width = shape.empty() ? 0 : shape.back().factor;
  return v;
}
/// Whether an axis of a view is one of its base.
inline bool is_whole(const Graph& g, const View& v, std::size_t dim, std::size_t axis) {
  const Shape& shape = g[v.base].shape;
  const Extent extent = axis + 1 == shape.size() ? Extent(v.width) : shape[axis];
  return v.dims[dim] == joined({{axis, 1, extent}});
}
/// Sequences with the steps first: [T, n, C] of [n, T, C].
inline bool is_steps_first(const Graph& g, const Value& v) {
  if (!v.view || v.special != Special::view || v.view->dims.size() != 3 || g[v.view->base].shape.size() != 3)
    return false;
  const View& view = *v.view;
  return is_whole(g, view, 0, 1) && is_whole(g, view, 1, 0) && is_whole(g, view, 2, 2) && view.scale == 1 &&
         view.width == g[view.base].shape[2].factor;
}

/// Output k as a view; as the base itself, if it is that.
inline void give_view(const NodeView& n, std::size_t k, View v) {
  for (Pieces& pieces : v.dims) pieces = joined(pieces);
  if (v.dims == plain_view(n.g, v.base).dims && v.first == 0 && v.scale == 1) return n.alias(k, v.base);
  Value& y = n.out(k, shape_of(v), n.g[v.base].type);
  y.special = Special::view, y.origin = n.g[v.base].origin;
  y.view = std::make_shared<View>(std::move(v));
}

/// The pieces as axes of these extents, or nothing.
inline std::optional<std::vector<Pieces>> cut(const Pieces& pieces, Shape to) {
  const auto batch = std::find_if(pieces.begin(), pieces.end(), [](const Piece& p) { return p.extent.has_batch(); });
  if (batch != pieces.end() && count_of(to) * batch->extent == extent_of(pieces)) {  // made with a batch of one
    const Extent before = extent_of(Pieces(pieces.begin(), batch));
    std::size_t dim = 0;
    for (Extent all(1); dim < to.size() && !(all == before);) all = all * to[dim++];
    if (dim == to.size() || (dim > 0 && to.size() == 2 && !(to[dim] == Extent(1)))) --dim;
    to[dim] = to[dim] * batch->extent;
  }
  std::vector<Pieces> dims;
  Pieces rest(pieces.rbegin(), pieces.rend());
  for (const Extent& extent : to) {
    dims.emplace_back();
    for (Extent open = extent; !(open == Extent(1));) {
      if (rest.empty()) return std::nullopt;
      Piece p = rest.back();
      if (const auto others = open.over(p.extent)) {
        rest.pop_back(), dims.back().push_back(p), open = *others;
      } else if (const auto inner = p.extent.over(open); inner && inner->is_number() && open.is_number()) {
        rest.back().extent = *inner;
        dims.back().push_back({p.axis, p.inner * inner->factor, open});
        open = Extent(1);
      } else return std::nullopt;
    }
  }
  if (!rest.empty()) return std::nullopt;
  return dims;
}

/// Adds a call of which the file has no node.
inline int add_call(const NodeView& n, std::string code, std::vector<int> inputs, const Shape& shape, int level = 0) {
  const int made = n.g.add_value(n.node.name), from = inputs[0];
  Value& v = n.g[made];
  v.shape = shape, v.has_shape = true, v.type = n.g[from].type, v.scope = n.scope, v.call = int(n.g.calls.size());
  v.origin = n.g[from].origin;
  for (const int each : inputs)
    if (n.g[each].origin != v.origin) v.origin = -2;
  Call c;
  c.scope = n.scope, c.code = std::move(code), c.inputs = std::move(inputs), c.outputs = {made}, c.level = level;
  c.node = n.node.name;
  n.g.calls.push_back(std::move(c));
  return made;
}
/// The view with its part and its factor in code, so that it has all of its base.
inline View of_all(const NodeView& n, View v) {
  Shape shape = n.g[v.base].shape;
  if (!shape.empty() && v.width != shape.back().factor) {
    const std::string last = std::to_string(shape.size() - 1);
    shape.back() = Extent(v.width);
    v.base = add_call(
        n, "slice<" + last + ", Part{" + number("First", v.first) + ", " + number("End", v.first + v.width) + "}>($0)",
        {v.base}, shape);
    v.first = 0;
  }
  if (v.scale != 1) v.base = add_call(n, "$0" + factor_text(v.scale), {v.base}, shape, 1);
  v.scale = 1;
  return v;
}
/// The value of a view, in code.
inline int materialized(const NodeView& n, const View& view) {
  const View v = of_all(n, view);
  const Pieces order = flat(v);
  int made = v.base;
  const Shape base = n.g[made].shape;
  if (!base.empty() && base[0].has_batch() && (order.empty() || order[0].axis != 0))
    n.refuse("it reads the steps of a sequence before the samples");
  Pieces sorted = order;
  std::sort(sorted.begin(), sorted.end(),
            [](const Piece& a, const Piece& b) { return a.axis != b.axis ? a.axis < b.axis : a.inner > b.inner; });
  const auto reshaped = [&](const Shape& to) {
    if (!(to == n.g[made].shape)) made = add_call(n, "reshape<" + n.g.shape(to) + ">($0)", {made}, to);
  };
  Shape parts;
  for (const Piece& p : sorted) parts.push_back(p.extent);
  std::string list;
  Shape moved;
  for (const Piece& p : order) {
    const auto from = std::find(sorted.begin(), sorted.end(), p) - sorted.begin();
    list += (list.empty() ? "" : ", ") + std::to_string(from);
    moved.push_back(p.extent);
  }
  if (order != sorted) {
    reshaped(parts);
    made = add_call(n, "transpose<" + list + ">($0)", {made}, moved);
  }
  reshaped(shape_of(v));
  return made;
}

}  // namespace importer
