// Nodes that move elements of constants: the result is a constant, too.
#pragma once
#include "fold.hpp"

namespace importer {

class KnownMoves {
 public:
  explicit KnownMoves(const NodeView& node) : n(node), op(node.node.operation) {}

  /// The result; nothing: the node does something else, or it is not known.
  std::optional<Known> run() const {
    if (!n.has(0)) return std::nullopt;
    const auto x = known_of(n.g, n.id(0));
    if (!x) return std::nullopt;
    if (op == "Reshape" || op == "Flatten" || op == "Unsqueeze" || op == "Squeeze") return reshaped(*x);
    if (op == "Expand") return expanded(*x);
    if (op == "Tile") return tiled(*x);
    if (op == "Transpose") return transposed(*x);
    if (op == "Slice") return cut(*x);
    if (op == "Concat") return joined();
    if (op == "Trilu") return triangle(*x);
    const auto at = n.has(1) ? known_of(n.g, n.id(1)) : std::nullopt;
    if (!at || at->is_real()) return std::nullopt;
    if (op == "Gather") return gathered(*x, *at);
    if (op == "GatherND") return rows(*x, *at);
    if (op == "GatherElements") return elements(*x, *at);
    return std::nullopt;
  }

 private:
  using Numbers = std::vector<long>;
  static bool fits(const Shape& shape) { return extents_of_sample(shape).has_value(); }

  std::optional<Known> reshaped(const Known& x) const {
    const auto to = Folding::moved_shape(n, op);
    if (!to || !fits(*to) || !(count_of(*to) == count_of(x.shape))) return std::nullopt;
    const bool adds_ones = op == "Unsqueeze" || op == "Squeeze";
    if (!adds_ones && (!has_samples_first(x.shape) || !has_samples_first(*to))) return std::nullopt;
    Known result = x;
    result.shape = *to, result.extents = *extents_of_sample(*to);
    return result.size() == count_of(result.extents) ? std::optional(result) : std::nullopt;
  }
  std::optional<Known> expanded(const Known& x) const {
    if (!n.has(1) || !n.in(1).whole) return std::nullopt;
    const Shape to = stretched(n, x.shape, *n.in(1).whole);
    const auto extents = extents_of_sample(to);
    if (!extents) return std::nullopt;
    return placed(x, to, stretched_places(*extents, x.extents));
  }
  std::optional<Known> tiled(const Known& x) const {
    if (!n.has(1) || !n.in(1).whole || n.in(1).whole->size() != x.shape.size()) return std::nullopt;
    Shape to = x.shape;
    for (std::size_t k = 0; k < to.size(); ++k) {
      const Extent& times = (*n.in(1).whole)[k];
      if (to[k].has_batch() && !(times == Extent(1)) && !x.is_plain()) return std::nullopt;
      to[k] = to[k] * times;
    }
    const auto extents = extents_of_sample(to);
    if (!extents) return std::nullopt;
    return placed(x, to, stretched_places(*extents, x.extents));
  }
  std::optional<Known> transposed(const Known& x) const {
    const std::size_t rank = x.shape.size();
    Numbers order = n.list("perm", 0, 0), strides(rank, 1), apart;
    if (order.empty())
      for (std::size_t k = rank; k-- > 0;) order.push_back(long(k));
    if (order.size() != rank || std::set<long>(order.begin(), order.end()).size() != rank) return std::nullopt;
    for (std::size_t k = rank; k-- > 1;) strides[k - 1] = strides[k] * x.extents[k];
    Shape to;
    for (const long each : order) {
      const std::size_t axis = n.axis(each, rank);
      to.push_back(x.shape[axis]), apart.push_back(strides[axis]);
    }
    const auto extents = extents_of_sample(to);
    if (!extents) return std::nullopt;
    std::vector<std::size_t> places;
    for (std::size_t i = 0; i < x.size(); ++i) {
      std::size_t rest = i, place = 0;
      for (std::size_t k = rank; k-- > 0; rest /= std::size_t((*extents)[k]))
        place += rest % std::size_t((*extents)[k]) * std::size_t(apart[k]);
      places.push_back(place);
    }
    return placed(x, to, places);
  }
  /// These places of an axis, as an axis of the shape `as`.
  std::optional<Known> taken(const Known& x, std::size_t axis, const Numbers& at, const Shape& as) const {
    Shape to(x.shape.begin(), x.shape.begin() + long(axis));
    to.insert(to.end(), as.begin(), as.end());
    to.insert(to.end(), x.shape.begin() + long(axis) + 1, x.shape.end());
    if (!fits(to)) return std::nullopt;
    std::size_t inner = 1, outer = 1;
    for (std::size_t k = 0; k < x.extents.size(); ++k)
      (k < axis ? outer : k > axis ? inner : outer) *= k == axis ? 1 : std::size_t(x.extents[k]);
    const auto extent = std::size_t(x.extents[axis]);
    std::vector<std::size_t> places;
    for (std::size_t i = 0; i < outer; ++i)
      for (const long place : at)
        for (std::size_t k = 0; k < inner; ++k) places.push_back((i * extent + std::size_t(place)) * inner + k);
    return placed(x, to, places);
  }
  std::optional<Known> cut(Known x) const {
    const auto begin = n.numbers("starts", 1), end = n.numbers("ends", 2);
    Numbers axes = n.plain_numbers("axes", 3), steps = n.plain_numbers("steps", 4);
    if (!begin || !end || begin->size() != end->size()) return std::nullopt;
    if (axes.empty())
      for (std::size_t k = 0; k < begin->size(); ++k) axes.push_back(long(k));
    if (steps.empty()) steps.assign(axes.size(), 1);
    if (axes.size() != begin->size() || steps.size() != begin->size()) return std::nullopt;
    for (std::size_t k = 0; k < axes.size(); ++k) {
      const std::size_t axis = n.axis(axes[k], x.shape.size());
      const Extent &b = (*begin)[k], &e = (*end)[k];
      const bool is_all = b == Extent(0) && steps[k] == 1 && (e == x.shape[axis] || e.factor >= 1l << 31);
      if (is_all) continue;
      if (!x.shape[axis].is_number() || !b.is_number() || !e.is_number() || steps[k] == 0) return std::nullopt;
      const Places places = places_between(b.factor, e.factor, steps[k], x.extents[axis]);
      Numbers at;
      for (long i = 0; i < places.count; ++i) at.push_back(places.first + i * places.step);
      const auto part = taken(x, axis, at, {Extent(places.count)});
      if (!part) return std::nullopt;
      x = *part;
    }
    return x;
  }
  std::optional<Known> gathered(const Known& x, const Known& at) const {
    const std::size_t axis = n.axis(n.whole("axis", 0), x.shape.size());
    const bool is_batch = x.shape[axis].has_batch();  // whose elements repeat
    if (is_batch ? !x.is_plain() : !at.is_plain()) return std::nullopt;
    for (const long each : at.slope)
      if (each % x.extents[axis] != 0) return std::nullopt;
    Numbers places;
    for (const long each : at.wholes) {
      if (is_batch && each < 0) return std::nullopt;
      places.push_back(is_batch ? each % x.extents[axis] : long(n.axis(each, std::size_t(x.extents[axis]))));
    }
    return taken(x, axis, places, at.shape);
  }
  /// Rows of numbers, one for each of the first axes.
  std::optional<Known> rows(const Known& x, const Known& at) const {
    const std::size_t width = at.shape.empty() ? 0 : std::size_t(at.extents.back());
    if (!x.is_plain() || width < 1 || width > x.shape.size() || n.whole("batch_dims", 0) != 0) return std::nullopt;
    Shape to(at.shape.begin(), at.shape.end() - 1);
    to.insert(to.end(), x.shape.begin() + long(width), x.shape.end());
    if (!fits(to) || at.shape.back().has_batch()) return std::nullopt;
    std::size_t inner = 1;
    for (std::size_t k = width; k < x.extents.size(); ++k) inner *= std::size_t(x.extents[k]);
    std::vector<std::size_t> places;
    for (std::size_t i = 0; i < at.size(); i += width) {
      std::size_t place = 0;
      for (std::size_t k = 0; k < width; ++k) {
        const auto extent = std::size_t(x.extents[k]);
        if (x.shape[k] == Extent::symbol(0)) continue;  // its samples are equal
        if (x.shape[k].has_batch() || (!at.is_plain() && at.slope[i + k] != 0)) return std::nullopt;
        place = place * extent + n.axis(at.wholes[i + k], extent);
      }
      for (std::size_t k = 0; k < inner; ++k) places.push_back(place * inner + k);
    }
    return placed(x, to, places);
  }
  /// Numbers along an axis, for each element of the result.
  std::optional<Known> elements(const Known& x, const Known& at) const {
    const std::size_t rank = x.shape.size(), axis = n.axis(n.whole("axis", 0), rank);
    if (!x.is_plain() || !at.is_plain() || at.shape.size() != rank || x.shape[axis].has_batch()) return std::nullopt;
    for (std::size_t k = 0; k < rank; ++k)
      if (k != axis && (at.extents[k] > x.extents[k] && !x.shape[k].has_batch())) return std::nullopt;
    std::vector<std::size_t> places;
    for (std::size_t i = 0; i < at.size(); ++i) {
      std::size_t rest = i, place = 0, stride = 1;
      for (std::size_t k = rank; k-- > 0;) {
        const auto own = std::size_t(x.extents[k]);
        const std::size_t here = rest % std::size_t(at.extents[k]);
        place += (k == axis ? n.axis(at.wholes[i], own) : here % own) * stride;
        rest /= std::size_t(at.extents[k]), stride *= own;
      }
      places.push_back(place);
    }
    return placed(x, at.shape, places);
  }
  std::optional<Known> joined() const {
    std::vector<Known> all;
    for (std::size_t k = 0; k < n.ids.size(); ++k) {
      const auto next = n.has(k) ? known_of(n.g, n.id(k)) : std::nullopt;
      if (!next || next->shape.size() != n.rank(0) || next->type != n.in(0).type) return std::nullopt;
      all.push_back(*next);
    }
    const std::size_t axis = n.axis(n.whole("axis", 0), n.rank(0));
    Shape to = all[0].shape;
    if (to[axis].has_batch()) return std::nullopt;
    Known result(all[0].type, to);
    std::size_t outer = 1;
    for (std::size_t k = 0; k < axis; ++k) outer *= std::size_t(result.extents[k]);
    to[axis] = Extent(0);
    bool is_plain = true;
    for (const Known& each : all) {
      for (std::size_t k = 0; k < to.size(); ++k)
        if (k != axis && !(each.shape[k] == to[k])) return std::nullopt;
      to[axis].factor += each.extents[axis];
      is_plain = is_plain && each.is_plain();
    }
    if (!fits(to)) return std::nullopt;
    for (std::size_t i = 0; i < outer; ++i)
      for (const Known& each : all)
        for (std::size_t k = each.size() / outer * i; k < each.size() / outer * (i + 1); ++k) {
          if (each.is_real()) result.reals.push_back(each.reals[k]);
          else result.wholes.push_back(each.wholes[k]);
          if (!is_plain) result.slope.push_back(each.is_plain() ? 0 : each.slope[k]);
        }
    result.shape = to, result.extents = *extents_of_sample(to);
    return result;
  }
  std::optional<Known> triangle(Known x) const {
    const std::size_t rank = x.shape.size();
    const auto by = n.has(1) ? known_of(n.g, n.id(1)) : std::nullopt;
    if ((n.has(1) && (!by || by->wholes.size() != 1)) || rank < 2 || !x.is_plain()) return std::nullopt;
    if (x.shape[rank - 1].has_batch() || x.shape[rank - 2].has_batch()) return std::nullopt;
    const long diagonal = by ? by->wholes[0] : 0, columns = x.extents[rank - 1], rows = x.extents[rank - 2];
    for (std::size_t i = 0; i < x.size(); ++i) {
      const long column = long(i) % columns, row = long(i) / columns % rows;
      const bool stays = n.whole("upper", 1) ? column - row >= diagonal : column - row <= diagonal;
      if (!stays && x.is_real()) x.reals[i] = 0;
      else if (!stays) x.wholes[i] = 0;
    }
    return x;
  }

  const NodeView& n;
  const std::string& op;
};

}  // namespace importer
