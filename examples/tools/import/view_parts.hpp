// Parts of an axis of a view: what Split, Slice, and Gather take of it.
#pragma once
#include "views.hpp"

namespace importer {

/// Whether elements of a piece are a part of an axis of the base.
inline bool is_outermost(const Graph& g, const View& v, const Piece& p) {
  const Shape& base = g[v.base].shape;
  const Extent axis = p.axis + 1 == base.size() ? Extent(v.width) : base[p.axis];
  return p.extent.is_number() && Extent(p.inner) * p.extent == axis;
}
/// The same view of a base that has an axis for each piece.
inline View apart(const NodeView& n, const View& view) {
  View v = of_all(n, view);
  const Pieces all = in_order(flat(v));
  Shape shape;
  for (const Piece& p : all) shape.push_back(p.extent);
  v.base = reshaped(n, v.base, shape);
  for (Pieces& pieces : v.dims)
    for (Piece& p : pieces) p = {std::size_t(std::find(all.begin(), all.end(), p) - all.begin()), 1, p.extent};
  v.width = shape.back().factor;
  return v;
}
/// Elements first .. first + count - 1 of the outermost piece of an axis, which is outermost in the base, too.
inline View units_of(const NodeView& n, View v, std::size_t dim, long first, long count) {
  const Piece p = v.dims[dim][0];
  Shape shape = n.g[v.base].shape;
  const long begin = first * p.inner, extent = count * p.inner;
  if (p.axis + 1 == shape.size()) v.first += begin, v.width = extent;
  else {
    shape[p.axis] = Extent(extent);
    const std::string part = "Part{" + number("First", begin) + ", " + number("End", begin + extent) + "}";
    v.base = add_call(n, "slice<" + std::to_string(p.axis) + ", " + part + ">($0)", {v.base}, shape);
  }
  if (count == 1) v.dims[dim].erase(v.dims[dim].begin());
  else v.dims[dim][0].extent = Extent(count);
  return v;
}
/// Elements first .. first + count - 1 of an axis; nothing if they are no part of one axis of a base.
inline std::optional<View> part_of(const NodeView& n, View v, std::size_t dim, long first, long count) {
  const Extent all = extent_of(v.dims[dim]);
  if (!all.is_number() || first < 0 || count < 1 || first + count > all.factor) return std::nullopt;
  if (all == Extent(count)) return v;
  const long rest = all.factor / v.dims[dim][0].extent.factor;
  const bool is_inside = first / rest == (first + count - 1) / rest;
  if (!is_inside && (first % rest != 0 || count % rest != 0)) return std::nullopt;
  if (!is_outermost(n.g, v, v.dims[dim][0])) v = apart(n, v);
  v = units_of(n, std::move(v), dim, first / rest, is_inside ? 1 : count / rest);
  return is_inside ? part_of(n, std::move(v), dim, first % rest, count) : v;
}

/// Parts of an axis of these sizes, as one call; nothing if they are no parts of one axis of a base.
inline std::optional<std::vector<View>> all_parts(const NodeView& n, View v, std::size_t dim,
                                                  const std::vector<long>& sizes) {
  if (v.dims[dim].empty() || !extent_of(v.dims[dim]).is_number() || sizes.size() < 2) return std::nullopt;
  const long rest = extent_of(v.dims[dim]).factor / v.dims[dim][0].extent.factor;
  if (std::any_of(sizes.begin(), sizes.end(), [&](long size) { return size % rest != 0; })) return std::nullopt;
  if (!is_outermost(n.g, v, v.dims[dim][0])) v = apart(n, v);
  else if (v.width != n.g[v.base].shape.back().factor) v = of_all(n, v);
  const Piece p = v.dims[dim][0];
  Shape shape = n.g[v.base].shape;
  const bool is_last = p.axis + 1 == shape.size(), is_equal = std::set<long>(sizes.begin(), sizes.end()).size() == 1;
  std::string code = (is_equal ? "split<" : "split_sizes<") + std::to_string(p.axis);
  if (is_equal) code += ", " + std::to_string(sizes.size());
  std::vector<View> parts;
  for (const long size : sizes) {
    View part = v;
    const long units = size / rest;
    shape[p.axis] = Extent(units * p.inner);
    if (!is_equal) code += ", " + number("Length", units * p.inner);
    if (units == 1) part.dims[dim].erase(part.dims[dim].begin());
    else part.dims[dim][0].extent = Extent(units);
    if (is_last) part.width = units * p.inner;
    if (parts.empty()) part.base = add_call(n, "", {v.base}, shape);
    else {
      part.base = n.g.add_value(n.node.name);
      n.g[part.base] = n.g[parts[0].base];
      n.g[part.base].shape = shape;
      n.g.calls.back().outputs.push_back(part.base);
    }
    parts.push_back(std::move(part));
  }
  n.g.calls.back().code = code + ">($0)";
  return parts;
}

/// What a call takes of an axis, "slice<1, Part{0, 4}>($0)"; nothing if it does something else.
struct TakenPart {
  std::string axis;
  long begin = 0, end = 0;

  static std::optional<TakenPart> of(const std::string& code) {
    const std::size_t first = code.find(", Part{\1First:"), last = code.find("\2, \1End:");
    if (!code.starts_with("slice<") || !code.ends_with("\2}>($0)") || first == code.npos || last == code.npos)
      return std::nullopt;
    const std::string begin = code.substr(first + 14, last - first - 14), end = code.substr(last + 8);
    return TakenPart{code.substr(6, first - 6), std::stol(begin), std::stol(end)};
  }
};
/// Slices that are all parts of an axis become one split.
inline void join_slices(Graph& g) {
  std::map<std::tuple<int, std::string, std::string>, std::map<long, std::size_t>> of;  // by value, axis, and module
  std::set<std::tuple<int, std::string, std::string>> damaged;
  for (std::size_t k = 0; k < g.calls.size(); ++k) {
    const Call& call = g.calls[k];
    const auto part = call.is_inner || call.is_dropped ? std::nullopt : TakenPart::of(call.code);
    if (!part) continue;
    const auto key = std::tuple(call.inputs[0], part->axis, call.scope);
    if (!of[key].insert({part->begin, k}).second) damaged.insert(key);
  }
  for (const auto& [key, parts] : of) {
    const auto& [value, axis, scope] = key;
    long end = 0;
    std::set<long> sizes;
    std::string code;
    std::size_t first = g.calls.size();
    std::vector<int> outputs;
    bool fits = parts.size() > 1 && damaged.count(key) == 0;
    for (const auto& [begin, k] : parts) {
      const TakenPart part = *TakenPart::of(g.calls[k].code);
      fits = fits && begin == end, end = part.end;
      sizes.insert(part.end - part.begin), code += ", " + number("Length", part.end - part.begin);
      outputs.push_back(g.calls[k].outputs[0]), first = std::min(first, k);
    }
    if (!fits || !(g[value].shape[std::size_t(std::stol(axis))] == Extent(end))) continue;
    for (const auto& [begin, k] : parts) g.calls[k].is_dropped = true;
    Call& split = g.calls[first];
    split.is_dropped = false, split.outputs = outputs;
    split.code = sizes.size() == 1 ? "split<" + axis + ", " + std::to_string(parts.size()) + ">($0)"
                                   : "split_sizes<" + axis + code + ">($0)";
    for (const int id : outputs) g[id].call = int(first);
  }
}

}  // namespace importer
