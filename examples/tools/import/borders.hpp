// Nodes that add borders, repeat a tensor, and move pixels between channels and places.
#pragma once
#include "movement.hpp"

namespace importer {

/// What a border consists of: pad, pad_reflect, pad_replicate, pad_circular.
inline std::string border_code(const NodeView& n) {
  const std::string mode = n.word("mode", "constant");
  if (mode == "constant") return "pad<";
  if (mode == "reflect") return "pad_reflect<";
  if (mode == "edge") return "pad_replicate<";
  if (mode == "wrap") return "pad_circular<";
  n.refuse("its mode is not in scope");
}
/// The margins of each axis, before and after.
inline std::vector<std::array<long, 2>> margins_of(const NodeView& n, std::size_t rank) {
  const std::vector<long> pads = n.plain_numbers("pads", 1);
  std::vector<long> axes = n.plain_numbers("axes", 3);
  if (axes.empty())
    for (std::size_t k = 0; k < rank; ++k) axes.push_back(long(k));
  if (pads.size() != 2 * axes.size()) n.refuse("its margins are damaged");
  std::vector<std::array<long, 2>> margins(rank);
  for (std::size_t k = 0; k < axes.size(); ++k) {
    const long before = pads[k], after = pads[axes.size() + k];
    if (before < 0 || after < 0) n.refuse("margins that take elements away are not in scope");
    if (std::max(before, after) > 1'000'000) n.refuse("its margins are damaged");
    margins[n.axis(axes[k], rank)] = {before, after};
  }
  return margins;
}
inline void pad(const NodeView& n) {
  Shape shape = n.shape(0);
  std::string code = border_code(n);
  const bool is_constant = code == "pad<", is_mirror = code == "pad_reflect<";
  const auto margins = margins_of(n, shape.size());
  std::string list, before_next;  // axes without a margin are named only before one that has one
  for (std::size_t k = 0; k < shape.size(); ++k) {
    const auto [before, after] = margins[k];
    if (before + after == 0) {
      before_next += "Margin{}, ";
      continue;
    }
    if (!shape[k].is_number()) n.refuse("it adds to a dynamic axis");
    if (!is_constant && std::max(before, after) > shape[k].factor - (is_mirror ? 1 : 0))
      n.refuse("its border is wider than its input");
    if (__builtin_add_overflow(shape[k].factor, before + after, &shape[k].factor)) n.refuse("its result is too large");
    list += (list.empty() ? "" : ", ") + before_next + "Margin{" + number("Before", before) + ", " +
            number("After", after) + "}";
    before_next = "";
  }
  if (list.empty()) return n.alias(0, n.id(0));
  std::string value;
  if (is_constant && n.has(2)) {
    const Value& v = n.in(2);
    if (!v.is_scalar() || v.call >= 0) n.refuse("the number of its border must be known");
    if (v.scalar() != 0 || std::signbit(v.scalar())) value = ", " + scalar_text(v);
  }
  Operands x(n);
  code += list + ">(" + x.tensor(0) + value + ")";
  n.out(0, shape, n.in(0).type);
  n.call(code, x.ids);
  n.g.needs_more = true;
}
inline void tile(const NodeView& n) {
  Shape shape = n.shape(0);
  if (const auto all = n.numbers("repeats", 1); all && all->size() == shape.size()) {
    Shape to = shape;
    bool stretches = false;
    for (std::size_t k = 0; k < to.size(); ++k) {
      if (!(*all)[k].is_number() && !(to[k] == Extent(1)))
        n.refuse("it repeats elements as often as there are samples");
      stretches = stretches || !(*all)[k].is_number();
      to[k] = to[k] * (*all)[k];
    }
    const auto is_same = [&](std::size_t k) { return to[k] == shape[k] || shape[k] == Extent(1); };
    bool are_same = true;
    for (std::size_t k = 0; k < to.size(); ++k) are_same = are_same && is_same(k);
    if (stretches && are_same) return stretch_to(n, to);
  }
  const std::vector<long> times = n.plain_numbers("repeats", 1);
  if (times.size() != shape.size()) n.refuse("its repeats are damaged");
  std::string list;
  for (std::size_t k = 0; k < shape.size(); ++k) {
    if (times[k] < 1 || times[k] > 1'000'000) n.refuse("its repeats are damaged");
    if (times[k] > 1 && shape[k].has_batch()) n.refuse("it repeats the samples of a batch");
    shape[k] = shape[k] * Extent(times[k]);
    list += (k ? ", " : "") + number("Times", times[k]);
  }
  if (shape == n.shape(0)) return n.alias(0, n.id(0));
  Operands x(n);
  const std::string code = "tile<" + list + ">(" + x.tensor(0) + ")";
  n.out(0, shape, n.in(0).type);
  n.call(code, x.ids);
  n.g.needs_more = true;
}

/// The side of the squares of pixels of an image.
inline long side_of(const NodeView& n) {
  const long side = n.whole("blocksize", 0);
  if (n.rank(0) != 4) n.refuse("only images are in scope");
  if (side < 1 || side > 1000) n.refuse("its blocksize is damaged");
  return side;
}
/// Turns the channels of a pixel into a square of pixels. Mode CRD is PyTorch's pixel_shuffle: the channels of one
/// square are neighbours. In mode DCR all channels for the first pixel of the squares come first.
inline void depth_to_space(const NodeView& n) {
  const long side = side_of(n);
  const Shape from = n.shape(0);
  const auto channels = from[1].over(Extent(side * side));
  if (!channels) n.refuse("its blocksize does not divide its channels");
  const Shape to{from[0], *channels, from[2] * Extent(side), from[3] * Extent(side)};
  const bool is_crd = n.word("mode", "DCR") == "CRD";
  const Shape apart{from[0], Extent(side), Extent(side), *channels, from[2], from[3]};
  Operands x(n);
  const std::string code = is_crd ? "pixel_shuffle<" + number("Side", side) + ">(" + x.tensor(0) + ")"
                                  : "reshape<" + n.g.shape(to) + ">(transpose<0, 3, 4, 1, 5, 2>(reshape<" +
                                        n.g.shape(apart) + ">(" + x.tensor(0) + ")))";
  n.out(0, to, n.in(0).type);
  n.call(code, x.ids);
  n.g.needs_more = n.g.needs_more || is_crd;
}
/// The opposite of depth_to_space in mode DCR.
inline void space_to_depth(const NodeView& n) {
  const Extent side(side_of(n));
  const Shape from = n.shape(0);
  const auto height = from[2].over(side), width = from[3].over(side);
  if (!height || !width) n.refuse("its blocksize does not divide its image");
  const Shape to{from[0], from[1] * side * side, *height, *width};
  const Shape apart{from[0], from[1], *height, side, *width, side};
  Operands x(n);
  const std::string code = "reshape<" + n.g.shape(to) + ">(transpose<0, 3, 5, 1, 2, 4>(reshape<" + n.g.shape(apart) +
                           ">(" + x.tensor(0) + ")))";
  n.out(0, to, n.in(0).type);
  n.call(code, x.ids);
}

}  // namespace importer
