// Constants as arrays of numbers, also those of which each sample of a batch has the same.
#pragma once
#include "elements.hpp"

namespace importer {
using Extents = std::vector<long>;
using Offsets = std::vector<std::size_t>;

/// Most elements of a constant that the tool computes, and of a sample of one that has the batch among its axes.
/// Those of a weight of the file may be more, up to `most_given`.
inline constexpr std::size_t most_computed = std::size_t(1) << 25, most_repeated = std::size_t(1) << 22,
                             most_given = std::size_t(1) << 40;

inline std::size_t elements_in(const Extents& extents) {
  std::size_t all = 1;
  for (const long each : extents) {
    if (each < 0 || __builtin_mul_overflow(all, std::size_t(each), &all) || all > most_given) return most_given + 1;
  }
  return all;
}
/// The axis that is the batch, or the rank.
inline std::size_t batch_axis(const Shape& shape) {
  return std::size_t(std::find_if(shape.begin(), shape.end(), [](const Extent& e) { return e.has_batch(); }) -
                     shape.begin());
}
/// The extents of a constant with one place for the axis that is the batch. An axis of 4 n has 4: it repeats them.
/// Nothing: it has too many elements, or depends on another dynamic axis.
inline std::optional<Extents> extents_of_sample(const Shape& shape, std::size_t limit = most_computed) {
  Extents extents;
  const std::size_t batch = batch_axis(shape);
  for (std::size_t k = 0; k < shape.size(); ++k) {
    Extent plain = shape[k];
    plain.power[0] = 0;
    if (!plain.is_number() || plain.factor < 0 || shape[k].power[0] > (k == batch ? 1 : 0)) return std::nullopt;
    if (k == batch && plain.factor != 1 && elements_in(extents) != 1) return std::nullopt;  // its samples lie apart
    extents.push_back(plain.factor);
  }
  if (batch < shape.size()) limit = most_repeated;
  return elements_in(extents) > limit ? std::nullopt : std::optional(extents);
}

/// The elements of a constant, of an axis that is the batch those of its first sample: real numbers, or whole ones,
/// which float64 does not hold. Sample i has i times the slope more.
struct Array {
  int type = 1;  // TensorProto.DataType
  Shape shape{};
  Extents extents{};  // of a sample
  std::vector<double> reals{};
  std::vector<long> wholes{};
  std::vector<long> slope{};      // nothing: 0
  std::vector<Extent> dynamic{};  // the elements, if some depend on a dynamic axis; then wholes has their factors

  Array(int of, Shape with) : type(of), shape(std::move(with)) {
    if (auto found = extents_of_sample(shape, most_given)) extents = std::move(*found);
  }
  Array(int of, const Extents& with) : Array(of, Shape(with.begin(), with.end())) {}
  bool operator==(const Array& other) const {  // in all bits: 0 has a sign
    const bool has_equal_reals =
        reals.size() == other.reals.size() &&
        (reals.empty() || !std::memcmp(&reals[0], &other.reals[0], reals.size() * sizeof(double)));
    return type == other.type && shape == other.shape && has_equal_reals && wholes == other.wholes &&
           slope == other.slope && dynamic == other.dynamic;
  }
  bool is_real() const { return is_real_type(type); }
  bool is_plain() const { return slope.empty() && dynamic.empty(); }
  bool has_samples() const { return batch_axis(shape) < shape.size(); }
  std::size_t count() const { return is_real() ? reals.size() : wholes.size(); }
  double number(std::size_t i) const { return is_real() ? reals[i] : double(wholes[i]); }
  Extent extent(std::size_t i) const { return dynamic.empty() ? Extent(wholes[i]) : dynamic[i]; }
  bool has_equal_elements() const {
    if (!is_plain() || count() == 0) return false;
    bool equal = true;
    for (std::size_t i = 1; equal && i < count(); ++i)
      equal = is_real() ? std::memcmp(&reals[i], &reals[0], sizeof(double)) == 0 : wholes[i] == wholes[0];
    return equal;
  }
  /// One more element: element i of another array of this type.
  void add(const Array& from, std::size_t i) {
    if (is_real()) reals.push_back(from.reals[i]);
    else wholes.push_back(from.wholes[i]);
    if (!slope.empty() || !from.slope.empty()) {
      slope.resize(count() - 1);
      slope.push_back(from.slope.empty() ? 0 : from.slope[i]);
    }
    if (dynamic.empty() && from.dynamic.empty()) return;
    while (dynamic.size() + 1 < count()) dynamic.push_back(Extent(wholes[dynamic.size()]));
    dynamic.push_back(from.extent(i));
  }
};
/// A real number in the type of an array.
inline double rounded(int type, double value) { return type == 1 ? double(float(value)) : value; }
/// The same of a whole number; one that does not fit wraps around.
inline long rounded(int type, long value) { return held(value, type).value_or(value); }

/// The place of the last element behind which `extents` continue, for each axis.
inline Extents strides_of(const Extents& extents) {
  Extents strides(extents.size(), 1);
  for (std::size_t k = extents.size(); k-- > 1;) strides[k - 1] = strides[k] * extents[k];
  return strides;
}
/// Where each element of an array is in another one, whose axes are `strides` apart.
inline Offsets strided(const Extents& extents, const Extents& strides, long first = 0) {
  Offsets places;
  const std::size_t all = elements_in(extents);
  places.reserve(all);
  Extents at(extents.size(), 0);
  for (std::size_t i = 0; i < all; ++i) {
    places.push_back(std::size_t(first));
    for (std::size_t k = extents.size(); k-- > 0;) {
      first += strides[k];
      if (++at[k] < extents[k]) break;
      first -= strides[k] * extents[k], at[k] = 0;
    }
  }
  return places;
}
/// The same of an array that is stretched to these extents.
inline Offsets stretched_places(const Extents& from, const Extents& to) {
  const Extents own = strides_of(from);
  Extents strides(to.size(), 0);
  for (std::size_t k = 1; k <= from.size(); ++k)
    if (from[from.size() - k] != 1) strides[to.size() - k] = own[from.size() - k];
  return strided(to, strides);
}
/// An array of the elements at these places of another one.
inline Array taken(const Array& x, Shape shape, const Offsets& places) {
  Array y(x.type, std::move(shape));
  for (const std::size_t at : places) y.add(x, at);
  return y;
}

/// The tensor of a constant, or of its first sample.
inline const ReadTensor* tensor_in(const Value& v) { return v.repeated ? &v.repeated->one : v.tensor; }
/// The elements of a value, if the file knows all of them. Whole numbers may depend on dynamic axes.
inline std::optional<Array> array_of(const Value& v) {
  const bool counts = v.special == Special::counting && !v.shape.empty();
  const ReadTensor* const t = tensor_in(v);
  if (!v.has_shape || !extents_of_sample(v.shape, t ? most_given : most_computed) || (!v.is_constant() && !counts))
    return std::nullopt;
  Array x(v.type, v.shape);
  const std::size_t all = elements_in(x.extents);
  if (t) {
    const std::vector<double> about = elements_of(*t);
    if (x.is_real()) x.reals = about;
    else
      for (std::size_t i = 0; i < about.size(); ++i) x.wholes.push_back(whole_element(*t, i, about[i]));
    if (v.repeated) x.slope = v.repeated->slope;
  } else if (v.whole) {
    for (const Extent& each : *v.whole)
      if (x.is_real()) x.reals.push_back(double(each.factor));
      else x.wholes.push_back(each.factor);
    if (!std::all_of(v.whole->begin(), v.whole->end(), [](const Extent& e) { return e.is_number(); }))
      x.dynamic = *v.whole;
  } else if (v.reals) {
    if (!x.is_real()) return std::nullopt;
    x.reals = *v.reals;
  } else if (v.filled) {
    if (x.is_real()) x.reals.assign(all, *v.filled);
    else x.wholes.assign(all, v.whole_scalar());
  } else {
    for (std::size_t i = 0; i < all; ++i)
      if (x.is_real()) x.reals.push_back(double(long(i) % x.extents.back()));
      else x.wholes.push_back(long(i) % x.extents.back());
    if (x.shape.back().has_batch()) x.slope.assign(all, x.extents.back());
  }
  return x.count() == all ? std::optional(std::move(x)) : std::nullopt;
}
/// The same of a value that is no weight to be trained, and depends on no dynamic axis but the batch.
inline std::optional<Array> known_of(const Graph& g, int id) {
  const ReadTensor* const t = tensor_in(g[id]);
  if (t && is_weight(*t) && t->count() > 1) return std::nullopt;
  auto x = array_of(g[id]);
  return x && x->dynamic.empty() ? std::move(x) : std::nullopt;
}
/// The number that all elements of a constant are, or nothing.
inline std::optional<double> equal_element(const Graph& g, int id) {
  if (g[id].filled) return g[id].filled;
  const auto known = known_of(g, id);
  return known && known->has_equal_elements() ? std::optional(known->number(0)) : std::nullopt;
}

/// An array as a tensor of the file.
inline std::optional<ReadTensor> tensor_from(const Array& x, const std::string& name) {
  ReadTensor t{name, x.type, {x.extents.begin(), x.extents.end()}, {}};
  const auto put = [&](auto element) { t.bytes.append(reinterpret_cast<const char*>(&element), sizeof element); };
  for (std::size_t i = 0; i < x.count(); ++i) switch (x.type) {
      case 1: put(float(x.reals[i])); break;
      case 11: put(x.reals[i]); break;
      case 2:
      case 9: put(std::uint8_t(x.wholes[i])); break;
      case 3: put(std::int8_t(x.wholes[i])); break;
      case 4: put(std::uint16_t(x.wholes[i])); break;
      case 5: put(std::int16_t(x.wholes[i])); break;
      case 6: put(std::int32_t(x.wholes[i])); break;
      case 7: put(std::int64_t(x.wholes[i])); break;
      case 12: put(std::uint32_t(x.wholes[i])); break;
      default: return std::nullopt;
    }
  return t;
}
inline void count_made(const NodeView& n, const ReadTensor& t) {
  n.g.made_bytes += t.bytes.size();
  if (n.g.made_bytes > (std::size_t(1) << 20) + 4 * n.g.given_bytes)
    n.refuse("the file computes more constants than it has weights");
}
/// Output k as a constant.
inline void give_constant(const NodeView& n, std::size_t k, ReadTensor t) {
  count_made(n, t);
  const int type = t.type;
  n.g.made.push_back(std::move(t));
  const ReadTensor& made = n.g.made.back();
  describe_constant(n.out(k, Shape(made.extents.begin(), made.extents.end()), type), made);
}
/// A constant of which each sample has the same, as output k.
inline void give_repeated(const NodeView& n, std::size_t k, const Shape& shape, Repeated of) {
  count_made(n, of.one);
  Value& v = n.out(k, shape, of.one.type);
  Value one;
  describe_constant(one, of.one);
  if (of.slope.empty()) v.special = one.special;
  v.origin = -1;
  v.repeated = std::make_shared<Repeated>(std::move(of));
}
/// Output k as these elements, which are trained if they have the name of a weight. False: a network has none of this
/// type.
inline bool give_array(const NodeView& n, std::size_t k, Array x, const std::string& weight) {
  if (!x.dynamic.empty()) {
    for (std::size_t i = 0; i < x.count(); ++i) x.wholes[i] = x.dynamic[i].factor;
    if (std::any_of(x.dynamic.begin(), x.dynamic.end(), [](const Extent& e) { return !e.is_number(); })) {
      if (!x.slope.empty() || x.has_samples() || x.count() > 64) return false;
      Value& v = n.out(k, x.shape, x.type);
      v.whole = std::move(x.dynamic), v.origin = -1;
      return true;
    }
    x.dynamic.clear();
  }
  if (std::all_of(x.slope.begin(), x.slope.end(), [](long each) { return each == 0; })) x.slope.clear();
  auto t = tensor_from(x, x.type == 1 ? weight : "");
  if (!t) return false;
  const double first = x.count() ? x.number(0) : 0;
  const bool is_filled =
      x.count() > 1 && t->name.empty() && x.has_equal_elements() && (x.is_real() || std::abs(first) < 0x1p53);
  if (x.has_samples()) give_repeated(n, k, x.shape, {std::move(*t), x.slope});
  else if (is_filled && x.count() > 64) n.out(k, x.shape, x.type);
  else give_constant(n, k, std::move(*t));
  Value& v = n.g[n.g.id_of.at(n.node.outputs[k])];
  v.origin = -1;
  if (is_filled) v.filled = first;
  if (x.count() == 1 && v.tensor && is_weight(*v.tensor)) v.reals.reset();  // no number: it is trained
  return true;
}

}  // namespace importer
