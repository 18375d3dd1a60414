// What nodes take of constants: elements in another order, parts, repetitions, borders, look-ups.
#pragma once
#include "arrays.hpp"
#include "borders.hpp"

namespace importer::evaluation {

/// A node whose inputs are all arrays.
struct Computation {
  const NodeView& n;
  std::vector<std::optional<Array>> inputs;

  bool has(std::size_t k) const { return k < inputs.size() && inputs[k]; }
  const Array& in(std::size_t k) const {
    if (!has(k)) n.refuse(text("its input ", k, " is missing"));
    return *inputs[k];
  }
  std::size_t axis(long without) const { return n.axis(n.whole("axis", without), in(0).extents.size()); }
  /// Refuses extents of more elements than the tool computes.
  const Extents& checked(const Extents& extents) const {
    if (elements_in(extents) > most_computed) n.refuse("the file computes more constants than it has weights");
    return extents;
  }
};
using Computed = std::optional<Array>;

inline Computed reordered(const Computation& c) {
  const Array& x = c.in(0);
  std::vector<long> order = c.n.list("perm", 0, 0);
  if (order.empty())
    for (std::size_t k = x.extents.size(); k-- > 0;) order.push_back(long(k));
  if (order.size() != x.extents.size() || std::set<long>(order.begin(), order.end()).size() != order.size())
    return std::nullopt;
  const Extents own = strides_of(x.extents);
  Extents to, strides;
  for (const long each : order) {
    const std::size_t k = c.n.axis(each, order.size());
    to.push_back(x.extents[k]), strides.push_back(own[k]);
  }
  return taken(x, to, strided(to, strides));
}
inline Computed sliced(const Computation& c) {
  const Array& x = c.in(0);
  const auto begin = c.n.plain_numbers("starts", 1), end = c.n.plain_numbers("ends", 2);
  auto axes = c.n.plain_numbers("axes", 3), steps = c.n.plain_numbers("steps", 4);
  if (axes.empty())
    for (std::size_t k = 0; k < begin.size(); ++k) axes.push_back(long(k));
  if (steps.empty()) steps.assign(begin.size(), 1);
  if (end.size() != begin.size() || axes.size() != begin.size() || steps.size() != begin.size()) return std::nullopt;
  Extents to = x.extents, strides = strides_of(x.extents);
  long first = 0;
  for (std::size_t k = 0; k < axes.size(); ++k) {
    const std::size_t axis = c.n.axis(axes[k], to.size());
    if (steps[k] == 0) return std::nullopt;
    const Places p = places_between(begin[k], end[k], steps[k], x.extents[axis]);
    first += p.first * strides[axis], strides[axis] *= p.step, to[axis] = p.count;
  }
  return taken(x, to, strided(to, strides, elements_in(to) == 0 ? 0 : first));
}
inline Computed expanded(const Computation& c) {
  const Array &x = c.in(0), &wanted = c.in(1);
  Extents to = wanted.wholes;
  while (to.size() < x.extents.size()) to.insert(to.begin(), 1);
  for (std::size_t k = 1; k <= x.extents.size(); ++k) {
    const long own = x.extents[x.extents.size() - k];
    long& other = to[to.size() - k];
    if (own != 1 && other != 1 && own != other) return std::nullopt;
    other = own == 1 ? other : own;
  }
  return taken(x, to, stretched_places(x.extents, c.checked(to)));
}
/// Axes that a repetition, a border, or a look-up gives other places: which place of x each has.
inline Array along_axes(const Array& x, const std::vector<std::vector<long>>& places) {
  Extents to;
  for (const auto& each : places) to.push_back(long(each.size()));
  const Extents strides = strides_of(x.extents);
  Offsets all{0};
  for (std::size_t k = 0; k < places.size(); ++k) {
    Offsets next;
    next.reserve(all.size() * places[k].size());
    for (const std::size_t first : all)
      for (const long at : places[k]) next.push_back(first + std::size_t(at * strides[k]));
    all = std::move(next);
  }
  return taken(x, to, all);
}
inline std::vector<std::vector<long>> all_places(const Extents& extents) {
  std::vector<std::vector<long>> places;
  for (const long extent : extents) {
    places.emplace_back();
    for (long i = 0; i < extent; ++i) places.back().push_back(i);
  }
  return places;
}
inline Computed tiled(const Computation& c) {
  const Array& x = c.in(0);
  const std::vector<long>& times = c.in(1).wholes;
  if (times.size() != x.extents.size()) return std::nullopt;
  Extents to = x.extents;
  auto places = all_places(x.extents);
  for (std::size_t k = 0; k < to.size(); ++k) {
    if (times[k] < 0 || times[k] > long(most_computed)) return std::nullopt;
    to[k] *= times[k];
  }
  c.checked(to);
  for (std::size_t k = 0; k < to.size(); ++k)
    for (long i = x.extents[k]; i < to[k]; ++i) places[k].push_back(i % x.extents[k]);
  for (std::size_t k = 0; k < to.size(); ++k) places[k].resize(std::size_t(to[k]));
  return along_axes(x, places);
}
/// Elements at numbers along an axis; a Gather has an array of them.
inline Computed gathered(const Computation& c) {
  const Array &x = c.in(0), &numbers = c.in(1);
  const std::size_t axis = c.axis(0);
  auto places = all_places(x.extents);
  places[axis].clear();
  for (const long each : numbers.wholes) places[axis].push_back(long(c.n.axis(each, std::size_t(x.extents[axis]))));
  Extents to(x.extents.begin(), x.extents.begin() + long(axis));
  to.insert(to.end(), numbers.extents.begin(), numbers.extents.end());
  to.insert(to.end(), x.extents.begin() + long(axis) + 1, x.extents.end());
  c.checked(to);
  Array y = along_axes(x, places);
  y.extents = to;
  return y;
}
inline Computed gathered_elements(const Computation& c) {
  const Array &x = c.in(0), &numbers = c.in(1);
  if (x.extents.size() != numbers.extents.size()) return std::nullopt;
  const std::size_t axis = c.axis(0);
  Extents strides = strides_of(x.extents);
  for (std::size_t k = 0; k < strides.size(); ++k)
    if (k != axis && numbers.extents[k] > x.extents[k]) return std::nullopt;
  const long apart = strides[axis];
  strides[axis] = 0;
  Offsets places = strided(numbers.extents, strides);
  for (std::size_t i = 0; i < places.size(); ++i)
    places[i] += c.n.axis(numbers.wholes[i], std::size_t(x.extents[axis])) * std::size_t(apart);
  return taken(x, numbers.extents, places);
}
/// Elements at rows of numbers, one for each of the first axes.
inline Computed gathered_at(const Computation& c) {
  const Array &x = c.in(0), &numbers = c.in(1);
  if (c.n.whole("batch_dims", 0) != 0 || numbers.extents.empty()) return std::nullopt;
  const auto width = std::size_t(numbers.extents.back());
  if (width < 1 || width > x.extents.size()) return std::nullopt;
  const Extents strides = strides_of(x.extents), rest(x.extents.begin() + long(width), x.extents.end());
  Extents to(numbers.extents.begin(), numbers.extents.end() - 1);
  to.insert(to.end(), rest.begin(), rest.end());
  const Offsets inner = strided(rest, strides_of(rest));
  Offsets places;
  places.reserve(elements_in(c.checked(to)));
  for (std::size_t i = 0; i < numbers.count(); i += width) {
    std::size_t first = 0;
    for (std::size_t k = 0; k < width; ++k)
      first += c.n.axis(numbers.wholes[i + k], std::size_t(x.extents[k])) * std::size_t(strides[k]);
    for (const std::size_t each : inner) places.push_back(first + each);
  }
  return taken(x, to, places);
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
    return taken(more, to, places);
  }
  if (mode != "edge" && mode != "reflect" && mode != "wrap") return std::nullopt;
  std::vector<std::vector<long>> places(x.extents.size());
  for (std::size_t k = 0; k < places.size(); ++k) {
    const long size = x.extents[k];
    if (std::max(margins[k][0], margins[k][1]) > size - (mode == "reflect" ? 1 : 0)) return std::nullopt;
    for (long i = -margins[k][0]; i < size + margins[k][1]; ++i)
      places[k].push_back(mode == "edge"   ? std::clamp(i, 0l, size - 1)
                          : mode == "wrap" ? (i + size) % size
                          : i < 0          ? -i
                          : i >= size      ? 2 * size - 2 - i
                                           : i);
  }
  return along_axes(x, places);
}
inline Computed joined(const Computation& c) {
  const std::size_t axis = c.axis(0);
  Array y{c.in(0).type, c.in(0).extents};
  y.extents[axis] = 0;
  std::size_t outer = 1;
  for (std::size_t k = 0; k < axis; ++k) outer *= std::size_t(y.extents[k]);
  for (std::size_t k = 0; k < c.inputs.size(); ++k) {
    Extents own = c.in(k).extents;
    if (own.size() != y.extents.size() || c.in(k).type != y.type) return std::nullopt;
    y.extents[axis] += own[axis], own[axis] = y.extents[axis];
    if (own != y.extents) return std::nullopt;
  }
  c.checked(y.extents);
  for (std::size_t i = 0; i < outer; ++i)
    for (const auto& x : c.inputs) {
      const long width = outer ? long(x->count() / outer) : 0, first = long(i) * width;
      if (x->is_real()) y.reals.insert(y.reals.end(), x->reals.begin() + first, x->reals.begin() + first + width);
      else y.wholes.insert(y.wholes.end(), x->wholes.begin() + first, x->wholes.begin() + first + width);
    }
  return y;
}
inline Computed selected(const Computation& c) {
  const Array &a = c.in(1), &b = c.in(2);
  const auto to = numbers_of(stretched(c.n, c.n.shape(0), stretched(c.n, c.n.shape(1), c.n.shape(2))));
  if (!to || a.type != b.type) return std::nullopt;
  const Offsets of = stretched_places(c.in(0).extents, *to), yes = stretched_places(a.extents, *to),
                no = stretched_places(b.extents, *to);
  Array y{a.type, *to};
  for (std::size_t i = 0; i < of.size(); ++i) {
    const bool is = c.in(0).wholes.at(of[i]) != 0;
    if (y.is_real()) y.reals.push_back(is ? a.reals[yes[i]] : b.reals[no[i]]);
    else y.wholes.push_back(is ? a.wholes[yes[i]] : b.wholes[no[i]]);
  }
  return y;
}
/// A triangle of matrices; the rest is 0.
inline Computed triangle(const Computation& c) {
  Array y = c.in(0);
  const std::size_t rank = y.extents.size();
  if (rank < 2 || (c.has(1) && c.in(1).count() != 1)) return std::nullopt;
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
/// Numbers at equal distances.
inline Computed counted(const Computation& c) {
  const Array &begin = c.in(0), &end = c.in(1), &step = c.in(2);
  if (begin.count() != 1 || end.count() != 1 || step.count() != 1 || step.number(0) == 0) return std::nullopt;
  const double distance = std::ceil((end.number(0) - begin.number(0)) / step.number(0));
  if (!(distance < double(most_computed))) return std::nullopt;
  Array y{begin.type, {std::max(0l, long(distance))}};
  for (long i = 0; i < y.extents[0]; ++i)
    if (y.is_real()) y.reals.push_back(rounded(y.type, begin.reals[0] + double(i) * step.reals[0]));
    else y.wholes.push_back(begin.wholes[0] + i * step.wholes[0]);
  return y;
}

}  // namespace importer::evaluation
