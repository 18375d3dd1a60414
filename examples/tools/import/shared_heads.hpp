// Heads of keys and values that several heads of queries share: an axis behind the heads that a file expands.
#pragma once
#include "movement.hpp"
#include "views.hpp"

namespace importer {

/// A view with an axis of one element behind its heads: that axis with `count` elements. Nothing if it is another axis.
inline std::optional<View> repeated_heads(const NodeView& n, const View& view, std::size_t dim, long count) {
  const std::size_t back = n.g[view.base].shape.size() - 1;
  if (dim == 0 || !view.dims[dim].empty() || view.scale != 1) return std::nullopt;
  View v = of_all(n, view);
  const Pieces& heads = v.dims[dim - 1];
  const long inner = heads.empty() ? v.width : heads[0].inner;
  if (heads.size() > 1 || (heads.size() == 1 && (heads[0].axis != back || !heads[0].extent.is_number())))
    return std::nullopt;
  if (heads.size() == 1 && heads[0].inner * heads[0].extent.factor != v.width) return std::nullopt;
  Shape shape = n.g[v.base].shape;
  shape.back() = Extent(v.width / inner);
  shape.push_back(Extent(inner));
  const int heads_apart = reshaped(n, v.base, shape);
  shape[back] = Extent(v.width / inner * count);
  const std::string code = "repeat_interleave<" + number("Times", count) + ", " + std::to_string(back) + ">($0)";
  v.base = add_call(n, code, {heads_apart}, shape);
  shape.pop_back();
  shape.back() = Extent(v.width * count);
  v.base = add_call(n, "reshape<" + n.g.shape(shape) + ">($0)", {v.base}, shape);
  n.g.needs_more = true;
  for (Pieces& pieces : v.dims)
    for (Piece& p : pieces)
      if (p.axis == back && p.inner >= inner) p.inner *= count;
  v.dims[dim] = {{back, inner, Extent(count)}};
  v.width *= count;
  return v;
}
/// Whether an Expand of a view does that.
inline bool repeats_heads(const NodeView& n, const View& v) {
  if (!n.has(1) || !n.in(1).whole) return false;
  const Shape from = shape_of(v), to = stretched(n, from, *n.in(1).whole);
  std::vector<std::size_t> changed;
  for (std::size_t k = 0; k < from.size() && to.size() == from.size(); ++k)
    if (!(to[k] == from[k])) changed.push_back(k);
  if (changed.size() != 1 || !to[changed[0]].is_number()) return false;
  auto repeated = repeated_heads(n, v, changed[0], to[changed[0]].factor);
  if (repeated) give_view(n, 0, std::move(*repeated));
  return repeated.has_value();
}

}  // namespace importer
