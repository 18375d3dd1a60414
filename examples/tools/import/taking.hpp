// What nodes take of constants: elements in another order, parts, repetitions, borders, look-ups.
#pragma once
#include "arrays.hpp"
#include "borders.hpp"

namespace importer::evaluation {

/// A node whose inputs are arrays, except those that say a shape or places alone.
struct Computation {
  const NodeView& n;
  std::vector<std::optional<Array>> inputs{};
  std::size_t output = 0;  // that is computed

  bool has(std::size_t k) const { return k < inputs.size() && inputs[k]; }
  const Array& in(std::size_t k) const {
    if (!has(k)) n.refuse(text("its input ", k, " is missing"));
    return *inputs[k];
  }
  bool is_plain() const {
    return std::all_of(inputs.begin(), inputs.end(), [](const auto& each) { return !each || each->is_plain(); });
  }
  std::size_t axis(long without) const { return n.axis(n.whole("axis", without), in(0).extents.size()); }
  std::size_t limit() const { return std::max(most_computed, has(0) ? in(0).count() : 0); }
  /// Refuses extents of more elements than the tool computes.
  const Extents& checked(const Extents& extents) const {
    if (elements_in(extents) > limit()) n.refuse("the file computes more constants than it has weights");
    return extents;
  }
  /// The extents of a sample of the result, if it can be computed.
  std::optional<Extents> sample_of(const Shape& shape) const {
    const auto is_extent = [](const Extent& e) { return e.is_number() && e.factor >= 0; };
    Extents extents;
    for (const Extent& each : shape) extents.push_back(each.factor);
    if (std::all_of(shape.begin(), shape.end(), is_extent)) checked(extents);
    return extents_of_sample(shape, limit());
  }
};
using Computed = std::optional<Array>;

/// A node that gives its first input another shape.
inline Computed reshaped(const Computation& c) {
  const std::string& op = c.n.node.operation;
  const Array& x = c.in(0);
  const auto to = moved_shape(c.n);
  if (!to || !extents_of_sample(*to, c.limit()) || !(count_of(*to) == count_of(x.shape))) return std::nullopt;
  const bool adds_ones = op == "Unsqueeze" || op == "Squeeze";
  const auto has_samples_first = [](const Shape& shape) {
    return std::all_of(shape.begin(), shape.begin() + long(batch_axis(shape)),
                       [](const Extent& e) { return e == Extent(1); });
  };
  if (!adds_ones && x.has_samples() && (!has_samples_first(x.shape) || !has_samples_first(*to))) return std::nullopt;
  Array y = x;
  y.shape = *to, y.extents = *extents_of_sample(*to, c.limit());
  return y.count() == elements_in(y.extents) ? std::optional(std::move(y)) : std::nullopt;
}
inline Computed reordered(const Computation& c) {
  const Array& x = c.in(0);
  std::vector<long> order = c.n.list("perm", 0, 0);
  if (order.empty())
    for (std::size_t k = x.extents.size(); k-- > 0;) order.push_back(long(k));
  if (order.size() != x.extents.size() || std::set<long>(order.begin(), order.end()).size() != order.size())
    return std::nullopt;
  const Extents own = strides_of(x.extents);
  Shape to;
  Extents strides;
  for (const long each : order) {
    const std::size_t k = c.n.axis(each, order.size());
    to.push_back(x.shape[k]), strides.push_back(own[k]);
  }
  const auto extents = c.sample_of(to);
  return extents ? Computed(taken(x, to, strided(*extents, strides))) : std::nullopt;
}
inline Computed sliced(const Computation& c) {
  const Array& x = c.in(0);
  const auto begin = c.n.numbers("starts", 1), end = c.n.numbers("ends", 2);
  auto axes = c.n.plain_numbers("axes", 3), steps = c.n.plain_numbers("steps", 4);
  if (!begin || !end || begin->size() != end->size()) return std::nullopt;
  if (axes.empty())
    for (std::size_t k = 0; k < begin->size(); ++k) axes.push_back(long(k));
  if (steps.empty()) steps.assign(axes.size(), 1);
  if (axes.size() != begin->size() || steps.size() != begin->size()) return std::nullopt;
  Shape to = x.shape;
  Extents strides = strides_of(x.extents);
  long first = 0;
  for (std::size_t k = 0; k < axes.size(); ++k) {
    const std::size_t axis = c.n.axis(axes[k], to.size());
    const Extent &b = (*begin)[k], &e = (*end)[k];
    if (b == Extent(0) && steps[k] == 1 && (e == to[axis] || e.factor >= 1l << 31)) continue;
    if (!to[axis].is_number() || !b.is_number() || !e.is_number() || steps[k] == 0) return std::nullopt;
    const Places p = places_between(b.factor, e.factor, steps[k], to[axis].factor);
    first += p.first * strides[axis], strides[axis] *= p.step, to[axis] = Extent(p.count);
  }
  const auto extents = c.sample_of(to);
  if (!extents) return std::nullopt;
  return taken(x, to, strided(*extents, strides, elements_in(*extents) == 0 ? 0 : first));
}
/// What a Split gives one of its outputs.
inline Computed piece(const Computation& c) {
  const Array& x = c.in(0);
  const std::size_t axis = c.axis(0);
  const std::vector<long> lengths = lengths_of_pieces(c.n, x.shape[axis]);
  const Extents strides = strides_of(x.extents);
  long first = 0;
  for (std::size_t k = 0; k < c.output; ++k) first += lengths[k];
  Shape to = x.shape;
  to[axis] = Extent(lengths[c.output]);
  const auto extents = c.sample_of(to);
  return extents ? Computed(taken(x, to, strided(*extents, strides, first * strides[axis]))) : std::nullopt;
}
inline Computed expanded(const Computation& c) {
  const Array& x = c.in(0);
  if (!c.n.has(1) || !c.n.in(1).whole) return std::nullopt;
  const Shape to = stretched(c.n, x.shape, *c.n.in(1).whole);
  const auto extents = c.sample_of(to);
  return extents ? Computed(taken(x, to, stretched_places(x.extents, *extents))) : std::nullopt;
}
/// Where elements are, for axes that a repetition, a border, or a look-up gives other places: which each axis has.
inline Offsets along_axes(const Array& x, const std::vector<std::vector<long>>& places) {
  const Extents strides = strides_of(x.extents);
  Offsets all{0};
  for (std::size_t k = 0; k < places.size(); ++k) {
    Offsets next;
    next.reserve(all.size() * places[k].size());
    for (const std::size_t first : all)
      for (const long at : places[k]) next.push_back(first + std::size_t(at * strides[k]));
    all = std::move(next);
  }
  return all;
}
inline Computed tiled(const Computation& c) {
  const Array& x = c.in(0);
  if (!c.n.has(1) || !c.n.in(1).whole || c.n.in(1).whole->size() != x.shape.size()) return std::nullopt;
  Shape to = x.shape;
  for (std::size_t k = 0; k < to.size(); ++k) {
    const Extent& times = (*c.n.in(1).whole)[k];
    if (to[k].has_batch() && !(times == Extent(1)) && !x.is_plain()) return std::nullopt;
    to[k] = to[k] * times;
  }
  const auto extents = c.sample_of(to);
  if (!extents) return std::nullopt;
  std::vector<std::vector<long>> places(to.size());
  for (std::size_t k = 0; k < to.size(); ++k)
    for (long i = 0; i < (*extents)[k]; ++i) places[k].push_back(i % x.extents[k]);
  return taken(x, to, along_axes(x, places));
}
/// Elements at numbers along an axis, of which a Gather has an array. Samples of an axis that is the batch are equal.
inline Computed gathered(const Computation& c) {
  const Array &x = c.in(0), &numbers = c.in(1);
  const std::size_t axis = c.axis(0);
  const bool is_batch = x.shape[axis].has_batch();
  if (is_batch ? !x.is_plain() : !numbers.is_plain()) return std::nullopt;
  const long size = x.extents[axis];
  if (!numbers.dynamic.empty()) return std::nullopt;
  for (const long each : numbers.slope)
    if (size == 0 || each % size != 0) return std::nullopt;
  std::vector<std::vector<long>> places;
  for (const long extent : x.extents) {
    places.emplace_back();
    for (long i = 0; i < extent && places.size() != axis + 1; ++i) places.back().push_back(i);
  }
  for (const long each : numbers.wholes) {
    if (is_batch && each < 0) return std::nullopt;
    places[axis].push_back(is_batch ? each % size : long(c.n.axis(each, std::size_t(size))));
  }
  Shape to(x.shape.begin(), x.shape.begin() + long(axis));
  to.insert(to.end(), numbers.shape.begin(), numbers.shape.end());
  to.insert(to.end(), x.shape.begin() + long(axis) + 1, x.shape.end());
  return c.sample_of(to) ? Computed(taken(x, to, along_axes(x, places))) : std::nullopt;
}
inline Computed gathered_elements(const Computation& c) {
  const Array &x = c.in(0), &numbers = c.in(1);
  const std::size_t axis = c.axis(0);
  if (x.shape.size() != numbers.shape.size() || !c.is_plain() || x.shape[axis].has_batch()) return std::nullopt;
  Extents strides = strides_of(x.extents);
  for (std::size_t k = 0; k < strides.size(); ++k) {
    if (x.shape[k] == Extent::symbol(0)) strides[k] = 0;  // its samples are equal
    else if (k != axis && numbers.extents[k] > x.extents[k]) return std::nullopt;
  }
  const long apart = strides[axis];
  strides[axis] = 0;
  Offsets places = strided(numbers.extents, strides);
  for (std::size_t i = 0; i < places.size(); ++i)
    places[i] += c.n.axis(numbers.wholes[i], std::size_t(x.extents[axis])) * std::size_t(apart);
  return taken(x, numbers.shape, places);
}
/// The place that a row of numbers says, one for each of the first axes. Nothing: it depends on the sample.
inline std::optional<std::size_t> place_at(const Computation& c, const Array& x, const Array& numbers, std::size_t row,
                                           std::size_t width) {
  const Extents strides = strides_of(x.extents);
  std::size_t place = 0;
  for (std::size_t k = 0; k < width; ++k) {
    if (x.shape[k] == Extent::symbol(0)) continue;  // its samples are equal
    if (x.shape[k].has_batch() || (!numbers.slope.empty() && numbers.slope[row + k] != 0)) return std::nullopt;
    place += c.n.axis(numbers.wholes[row + k], std::size_t(x.extents[k])) * std::size_t(strides[k]);
  }
  return place;
}
/// Elements at rows of numbers.
inline Computed gathered_at(const Computation& c) {
  const Array &x = c.in(0), &numbers = c.in(1);
  if (c.n.whole("batch_dims", 0) != 0 || numbers.shape.empty() || numbers.shape.back().has_batch() || !x.is_plain() ||
      !numbers.dynamic.empty())
    return std::nullopt;
  const auto width = std::size_t(numbers.extents.back());
  if (width < 1 || width > x.shape.size()) return std::nullopt;
  Shape to(numbers.shape.begin(), numbers.shape.end() - 1);
  to.insert(to.end(), x.shape.begin() + long(width), x.shape.end());
  const auto extents = c.sample_of(to);
  if (!extents) return std::nullopt;
  const std::size_t inner = elements_in({x.extents.begin() + long(width), x.extents.end()});
  Offsets places;
  places.reserve(elements_in(*extents));
  for (std::size_t row = 0; row < numbers.count(); row += width) {
    const auto first = place_at(c, x, numbers, row, width);
    if (!first) return std::nullopt;
    for (std::size_t i = 0; i < inner; ++i) places.push_back(*first + i);
  }
  return taken(x, to, places);
}
/// Parts at rows of numbers, as the mask of windows that an image was shifted in.
inline Computed scattered(const Computation& c) {
  Array y = c.in(0);
  const Array &numbers = c.in(1), &parts = c.in(2);
  if (c.n.word("reduction", "none") != "none") return std::nullopt;
  const std::size_t width = numbers.extents.empty() ? 0 : std::size_t(numbers.extents.back());
  if (numbers.extents.empty() || width > y.extents.size()) c.n.refuse("its numbers do not fit its tensor");
  const Extents inner(y.extents.begin() + long(width), y.extents.end());
  Extents shape(numbers.extents.begin(), numbers.extents.end() - 1);
  shape.insert(shape.end(), inner.begin(), inner.end());
  if (shape != parts.extents) c.n.refuse("its updates do not fit its numbers");
  const std::size_t size = elements_in(inner);
  for (std::size_t row = 0; width && row * width < numbers.count(); ++row) {
    const std::size_t first = *place_at(c, y, numbers, row * width, width);
    for (std::size_t i = 0; i < size; ++i)
      if (y.is_real()) y.reals[first + i] = parts.reals[row * size + i];
      else y.wholes[first + i] = parts.wholes[row * size + i];
  }
  return y;
}
/// A border of one number, or of what lies at the border.
inline Computed bordered(const Computation& c) {
  const Array& x = c.in(0);
  const std::string mode = c.n.word("mode", "constant");
  auto margins = margins_of(c.n, x.extents.size());
  if (mode == "constant") {
    Array more = x;  // with the number as its last element
    const double value = c.has(2) && c.in(2).count() == 1 ? c.in(2).number(0) : 0;
    if (more.is_real()) more.reals.push_back(value);
    else more.wholes.push_back(c.has(2) && c.in(2).count() == 1 ? c.in(2).wholes.at(0) : 0);
    Extents to = x.extents;
    for (std::size_t k = 0; k < to.size(); ++k) to[k] += margins[k][0] + margins[k][1];
    long first = 0;
    const Extents strides = strides_of(x.extents);
    for (std::size_t k = 0; k < to.size(); ++k) first -= margins[k][0] * strides[k];
    Offsets places(elements_in(c.checked(to)), x.count());
    Extents at(to.size(), 0);
    for (std::size_t& place : places) {
      bool is_inside = true;
      long from = first;
      for (std::size_t k = 0; k < to.size(); ++k) {
        const long own = at[k] - margins[k][0];
        is_inside = is_inside && own >= 0 && own < x.extents[k];
        from += at[k] * strides[k];
      }
      if (is_inside) place = std::size_t(from);
      for (std::size_t k = to.size(); k-- > 0 && ++at[k] == to[k];) at[k] = 0;
    }
    return taken(more, Shape(to.begin(), to.end()), places);
  }
  if (mode != "edge" && mode != "reflect" && mode != "wrap") return std::nullopt;
  std::vector<std::vector<long>> places(x.extents.size());
  Shape to;
  for (std::size_t k = 0; k < places.size(); ++k) {
    const long size = x.extents[k];
    to.push_back(Extent(margins[k][0] + size + margins[k][1]));
    if (std::max(margins[k][0], margins[k][1]) > size - (mode == "reflect" ? 1 : 0)) return std::nullopt;
    for (long i = -margins[k][0]; i < size + margins[k][1]; ++i)
      places[k].push_back(mode == "edge"   ? std::clamp(i, 0l, size - 1)
                          : mode == "wrap" ? (i + size) % size
                          : i < 0          ? -i
                          : i >= size      ? 2 * size - 2 - i
                                           : i);
  }
  return taken(x, to, along_axes(x, places));
}
inline Computed joined(const Computation& c) {
  const std::size_t axis = c.axis(0);
  Shape to = c.in(0).shape;
  to[axis] = Extent(0);
  for (std::size_t k = 0; k < c.inputs.size(); ++k) {
    Shape own = c.in(k).shape;
    if (own.size() != to.size() || c.in(k).type != c.in(0).type || !own[axis].is_number()) return std::nullopt;
    to[axis].factor += own[axis].factor, own[axis] = to[axis];
    if (own != to) return std::nullopt;
  }
  const auto extents = c.sample_of(to);
  if (!extents) return std::nullopt;
  Array y(c.in(0).type, to);
  const std::size_t outer = elements_in({extents->begin(), extents->begin() + long(axis)});
  for (std::size_t i = 0; i < outer; ++i)
    for (const auto& x : c.inputs) {
      const std::size_t width = x->count() / outer;
      for (std::size_t k = i * width; k < (i + 1) * width; ++k) y.add(*x, k);
    }
  return y;
}
inline Computed selected(const Computation& c) {
  const Array &a = c.in(1), &b = c.in(2);
  const Shape to = stretched(c.n, c.n.shape(0), stretched(c.n, c.n.shape(1), c.n.shape(2)));
  const auto extents = extents_of_sample(to);
  if (!extents || a.type != b.type || !c.in(0).is_plain() || !a.slope.empty() || !b.slope.empty()) return std::nullopt;
  const Offsets of = stretched_places(c.in(0).extents, *extents), yes = stretched_places(a.extents, *extents),
                no = stretched_places(b.extents, *extents);
  Array y(a.type, to);
  for (std::size_t i = 0; i < of.size(); ++i)
    if (c.in(0).wholes.at(of[i])) y.add(a, yes[i]);
    else y.add(b, no[i]);
  return y;
}
/// A triangle of matrices; the rest is 0.
inline Computed triangle(const Computation& c) {
  Array y = c.in(0);
  const std::size_t rank = y.extents.size();
  if (rank < 2 || (c.has(1) && c.in(1).count() != 1) || !y.is_plain()) return std::nullopt;
  if (batch_axis(y.shape) < rank && batch_axis(y.shape) + 2 >= rank) return std::nullopt;
  const bool is_upper = c.n.whole("upper", 1) != 0;
  const long diagonal = c.has(1) ? std::clamp(c.in(1).wholes[0], -1l << 31, 1l << 31) : 0;
  for (std::size_t i = 0; i < y.count(); ++i) {
    const long column = long(i) % y.extents[rank - 1], row = long(i) / y.extents[rank - 1] % y.extents[rank - 2];
    if (is_upper ? column - row >= diagonal : column - row <= diagonal) continue;
    if (y.is_real()) y.reals[i] = 0;
    else y.wholes[i] = 0;
  }
  return y;
}
/// Numbers at equal distances. Very many ones from 0 on have code.
inline Computed counted(const Computation& c) {
  const Array &begin = c.in(0), &end = c.in(1), &step = c.in(2);
  if (begin.count() != 1 || end.count() != 1 || step.count() != 1 || step.number(0) == 0) return std::nullopt;
  const double distance = std::ceil((end.number(0) - begin.number(0)) / step.number(0));
  const bool has_code = begin.number(0) == 0 && step.number(0) == 1;
  if (!(distance < double(has_code ? most_repeated : most_computed))) return std::nullopt;
  Array y(begin.type, Shape{Extent(std::max(0l, long(distance)))});
  for (long i = 0; i < y.extents[0]; ++i)
    if (y.type == 1) y.reals.push_back(double(float(begin.reals[0]) + float(i) * float(step.reals[0])));
    else if (y.is_real()) y.reals.push_back(begin.reals[0] + double(i) * step.reals[0]);
    else y.wholes.push_back(begin.wholes[0] + i * step.wholes[0]);
  return y;
}

}  // namespace importer::evaluation
