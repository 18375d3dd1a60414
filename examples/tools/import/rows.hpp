// Elements of each sample at places that the file knows: masks of padding are looked up so.
#pragma once
#include "operators.hpp"
#include "parts.hpp"

namespace importer {

inline bool is_in_steps(const std::vector<long>& places) {
  const long step = places.size() < 2 ? 1 : places[1] - places[0];
  bool in_steps = step != 0;
  for (std::size_t k = 1; k < places.size(); ++k) in_steps = in_steps && places[k] - places[k - 1] == step;
  return in_steps;
}
/// These elements of each sample, which has `count` of them at `stride`: a part of it with this shape.
inline void elements_of_samples(const NodeView& n, long count, const std::vector<long>& places, const Shape& shape) {
  const Shape from = n.shape(0);
  const int type = n.in(0).type;
  bool is_all = long(places.size()) == count;
  for (std::size_t k = 0; is_all && k < places.size(); ++k) is_all = places[k] == long(k);
  int made = before_reshape(n, n.id(0), true);
  if (n.g[made].special != Special::none || (n.g[made].call < 0 && n.g[made].origin < 0)) made = n.id(0);
  const auto rest = count_of(shape).over(Extent::symbol(0) * Extent(long(places.size())));
  if (!rest || !rest->is_number()) n.refuse("it mixes the samples of a batch");
  const Shape rows{Extent::symbol(0), Extent(count), *rest};
  const auto reshaped = [&](const Shape& to) {
    if (!(n.g[made].shape == to)) made = add_call(n, "reshape<" + n.g.shape(to) + ">($0)", {made}, to);
  };
  if (!is_all) {
    const bool in_steps = is_in_steps(places);
    if (!in_steps) n.refuse("only places at equal distances are in scope");
    reshaped(rows);
    Shape taken = rows;
    const long step = places.size() < 2 ? 1 : places[1] - places[0];
    const std::string part = part_text(n, taken[1], {places[0], step, long(places.size())});
    made = add_call(n, "slice<1, " + part + ">($0)", {made}, taken);
  }
  reshaped(shape);
  n.g[made].type = type;
  n.alias(0, made);
}
/// Rows of a batch whose samples are joined to one axis, at places that are the same in each sample.
inline bool gather_in_samples(const NodeView& n) {
  const Shape& from = n.shape(0);
  const auto at = n.has(1) ? known_of(n.g, n.id(1)) : std::nullopt;
  if (!at || at->is_plain() || n.in(0).is_constant() || n.axis(n.whole("axis", 0), from.size()) != 0) return false;
  const auto count = from[0].over(Extent::symbol(0));
  if (!count || !count->is_number() || batch_axis(at->shape) != 0 || at->is_real()) return false;
  for (std::size_t i = 0; i < at->count(); ++i)
    if (at->slope[i] != count->factor || at->wholes[i] < 0 || at->wholes[i] >= count->factor)
      n.refuse("it mixes the samples of a batch");
  Shape shape = at->shape;
  shape.insert(shape.end(), from.begin() + 1, from.end());
  return elements_of_samples(n, count->factor, at->wholes, shape), true;
}
inline bool is_row_of_table(const NodeView& n, const Array& at) {
  return n.in(0).tensor && n.in(0).type == 1 && n.rank(0) == 2 && !at.shape.empty() && at.shape.back() == Extent(1) &&
         n.whole("batch_dims", 0) == 0;
}
/// Elements at rows of numbers; the first number of each is that of the sample.
inline void gather_nd(const NodeView& n) {
  const Shape from = n.shape(0);
  const auto at = known_of(n.g, n.id(1));
  if (at && at->is_plain() && is_row_of_table(n, *at)) {
    Shape ids(at->shape.begin(), at->shape.end() - 1);
    ids.push_back(from[1]);
    return chosen_rows(n, constant_tensor(n, 0), *at, ids);
  }
  if (!at || at->is_plain() || at->shape.empty() || !at->shape.back().is_number() || n.whole("batch_dims", 0) != 0 ||
      batch_axis(at->shape) != 0 || !(from[0] == Extent::symbol(0)))
    n.refuse("only elements at known places of each sample are in scope");
  const auto width = std::size_t(at->extents.back());
  std::vector<long> places;
  if (width < 1 || width > from.size()) n.refuse("its places are damaged");
  long count = 1;
  for (std::size_t k = 1; k < width; ++k) count *= from[k].factor;
  for (std::size_t i = 0; i < at->count(); i += width) {
    long place = 0;
    if (at->slope[i] != 1 || at->wholes[i] != 0) n.refuse("it mixes the samples of a batch");
    for (std::size_t k = 1; k < width; ++k) {
      if (at->slope[i + k] != 0 || !from[k].is_number()) n.refuse("its places depend on the sample");
      place = place * from[k].factor + long(n.axis(at->wholes[i + k], std::size_t(from[k].factor)));
    }
    places.push_back(place);
  }
  Shape shape(at->shape.begin(), at->shape.end() - 1);
  shape.insert(shape.end(), from.begin() + long(width), from.end());
  elements_of_samples(n, count, places, shape);
}

}  // namespace importer
