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
/// Pieces in the order in which the base has them.
inline Pieces in_order(Pieces pieces) {
  std::sort(pieces.begin(), pieces.end(),
            [](const Piece& a, const Piece& b) { return a.axis != b.axis ? a.axis < b.axis : a.inner > b.inner; });
  return pieces;
}
/// Pieces that stay together: those of one axis that are neighbours in the base, too. In the order of the base, and in
/// that of the view.
inline std::array<std::vector<Pieces>, 2> grouped(const View& v) {
  const Pieces sorted = in_order(flat(v));
  std::array<std::vector<Pieces>, 2> groups;
  for (const Pieces& pieces : v.dims)
    for (std::size_t k = 0; k < pieces.size(); ++k) {
      const auto at = std::find(sorted.begin(), sorted.end(), pieces[k]);
      if (k > 0 && at != sorted.begin() && at[-1] == pieces[k - 1]) groups[1].back().push_back(pieces[k]);
      else groups[1].push_back({pieces[k]});
    }
  groups[0] = groups[1];
  const auto place = [&](const Pieces& group) { return std::find(sorted.begin(), sorted.end(), group[0]); };
  std::sort(groups[0].begin(), groups[0].end(), [&](const Pieces& a, const Pieces& b) { return place(a) < place(b); });
  return groups;
}
/// A value without the reshapes that made it: all of them, or those of the module of the node, and around it.
inline int before_reshape(const NodeView& n, int id, bool takes_all = false) {
  while (n.g[id].call >= 0) {
    const Call& call = n.g.calls[std::size_t(n.g[id].call)];
    const auto is = [&](std::string_view start) { return call.code.starts_with(start); };
    const bool is_one = (is("reshape<") || is("flatten(") || is("expand_dims<")) && call.code.ends_with("($0)") &&
                        call.inputs.size() == 1;
    const bool is_here = call.scope.empty() || call.scope == n.scope || n.scope.starts_with(call.scope + ".");
    if (!is_one || !(is_here || takes_all) || call.is_inner) break;
    id = call.inputs[0];
  }
  return id;
}
/// A value without the broadcast_to that made it: operators of two tensors stretch them.
inline int before_stretch(const NodeView& n, int id) {
  if (n.g[id].call < 0) return id;
  const Call& call = n.g.calls[std::size_t(n.g[id].call)];
  const bool is_one = call.code.starts_with("broadcast_to<") && call.code.ends_with(">($0)") && !call.is_inner;
  return is_one && call.scope == n.scope ? call.inputs[0] : id;
}
/// A value with another shape, in code.
inline int reshaped(const NodeView& n, int id, const Shape& to) {
  if (!(to == n.g[id].shape)) id = before_reshape(n, id);
  return to == n.g[id].shape ? id : add_call(n, "reshape<" + n.g.shape(to) + ">($0)", {id}, to);
}
/// The value of a view, in code.
inline int materialized(const NodeView& n, const View& view) {
  const View v = of_all(n, view);
  const Shape base = n.g[v.base].shape;
  const Pieces pieces = flat(v);
  if (!base.empty() && base[0].has_batch() && (pieces.empty() || pieces[0].axis != 0))
    n.refuse("it reads the steps of a sequence before the samples");
  const auto [sorted, order] = grouped(v);
  int made = v.base;
  Shape parts, moved;
  for (const Pieces& group : sorted) parts.push_back(extent_of(group));
  std::string list;
  for (const Pieces& group : order) {
    const auto from = std::find(sorted.begin(), sorted.end(), group) - sorted.begin();
    list += (list.empty() ? "" : ", ") + std::to_string(from);
    moved.push_back(extent_of(group));
  }
  if (order != sorted) {
    made = reshaped(n, made, parts);
    made = add_call(n, "transpose<" + list + ">($0)", {made}, moved);
  }
  return reshaped(n, made, shape_of(v));
}
/// The value of a view, in code. Nodes that read the same view read the same code.
inline int materialized(const NodeView& n, int id) {
  const int before = n.g[id].in_code;
  if (before >= 0 && (n.g[before].call < 0 || !n.g.calls[std::size_t(n.g[before].call)].is_inner)) return before;
  const int made = materialized(n, *n.g[id].view);
  n.g[id].in_code = made;
  return made;
}
/// The view of a value in code with the samples first and its last axis last.
inline View rebased(const NodeView& n, const View& v) {
  View base = v;
  Pieces leading = flat(v);
  leading.resize(leading.size() - v.dims.back().size());
  const auto batch = std::find_if(leading.begin(), leading.end(), [](const Piece& p) { return p.axis == 0; });
  if (batch == leading.end()) n.refuse("it mixes the samples of a batch");
  std::rotate(leading.begin(), batch, batch + 1);
  base.dims.clear();
  for (const Piece& p : leading) base.dims.push_back({p});
  base.dims.push_back(v.dims.back());
  View result{materialized(n, base), v.dims};
  for (Pieces& pieces : result.dims)
    for (Piece& p : pieces)
      if (&pieces != &result.dims.back()) {
        const auto axis = std::size_t(std::find(leading.begin(), leading.end(), p) - leading.begin());
        p = {axis, 1, p.extent};
      }
  const Shape& shape = n.g[result.base].shape;
  result.width = shape.back().factor;
  result.dims.back() = joined({{shape.size() - 1, 1, shape.back()}});
  return result;
}

}  // namespace importer
