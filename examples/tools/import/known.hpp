// Constants with all their elements, also those of which each sample of a batch has the same.
#pragma once
#include "computed.hpp"

namespace importer {

/// Most elements of a constant that is computed.
inline constexpr long most_known = 1l << 22;

/// The extents of a constant with one place for the axis that is the batch. An axis of 4 n has 4: it repeats them.
/// Nothing: it has too many elements, or depends on another dynamic axis.
inline std::optional<std::vector<long>> extents_of_sample(const Shape& shape) {
  std::vector<long> extents;
  long count = 1;
  bool has_batch = false;
  for (const Extent& each : shape) {
    Extent plain = each;
    plain.power[0] = 0;
    if (!plain.is_number() || plain.factor < 0 || each.power[0] > 1 || (each.has_batch() && has_batch))
      return std::nullopt;
    if (each.has_batch() && plain.factor != 1 && count != 1) return std::nullopt;  // its samples lie apart
    has_batch = has_batch || each.has_batch();
    extents.push_back(plain.factor);
    if (__builtin_mul_overflow(count, plain.factor, &count) || count > most_known) return std::nullopt;
  }
  return extents;
}
inline std::size_t count_of(const std::vector<long>& extents) {
  std::size_t count = 1;
  for (const long each : extents) count *= std::size_t(each);
  return count;
}
/// The axis that is the batch, or the rank.
inline std::size_t batch_axis(const Shape& shape) {
  return std::size_t(std::find_if(shape.begin(), shape.end(), [](const Extent& e) { return e.has_batch(); }) -
                     shape.begin());
}
/// Whether the samples of a constant lie one after the other.
inline bool has_samples_first(const Shape& shape) {
  const std::size_t batch = batch_axis(shape);
  return std::all_of(shape.begin(), shape.begin() + long(batch), [](const Extent& e) { return e == Extent(1); });
}

/// The elements of a constant, of an axis that is the batch those of its first sample. Sample i has i times the slope
/// more.
struct Known {
  int type = 0;
  Shape shape;
  std::vector<long> extents;  // of a sample
  std::vector<double> reals;  // of a type of real numbers
  std::vector<long> wholes;   // of another type
  std::vector<long> slope;    // nothing: 0

  Known(int of, Shape with) : type(of), shape(std::move(with)) {
    if (const auto found = extents_of_sample(shape)) extents = *found;
  }
  bool is_real() const { return is_real_type(type); }
  bool is_plain() const { return slope.empty(); }
  std::size_t size() const { return is_real() ? reals.size() : wholes.size(); }
  /// Element i as a real number.
  double real(std::size_t i) const { return is_real() ? reals[i] : double(wholes[i]); }
  bool has_equal_elements() const {
    if (!is_plain() || size() == 0) return false;
    bool equal = true;
    for (std::size_t i = 1; equal && i < size(); ++i)
      equal = is_real() ? std::memcmp(&reals[i], &reals[0], sizeof(double)) == 0 : wholes[i] == wholes[0];
    return equal;
  }
};

/// Those of 0, 1, 2, ... along the last axis.
inline void count_along_last(Known& known) {
  const long last = known.extents.back();
  const bool is_batch = known.shape.back().has_batch();
  for (std::size_t i = 0; i < count_of(known.extents); ++i) known.wholes.push_back(long(i) % last);
  if (is_batch) known.slope.assign(known.wholes.size(), last);
}
/// All elements of a constant; nothing if they are not known, too many, or weights to be trained.
inline std::optional<Known> known_of(const Graph& g, int id) {
  const Value& v = g[id];
  if (!v.has_shape || !extents_of_sample(v.shape) || (!v.is_constant() && v.special != Special::counting))
    return std::nullopt;
  const ReadTensor* const t = v.repeated ? &v.repeated->one : v.tensor;
  if (t && is_weight(*t) && t->count() > 1) return std::nullopt;
  Known known(v.type, v.shape);
  const std::size_t count = count_of(known.extents);
  if (known.type != 1 && known.type != 6 && known.type != 7 && known.type != 9 && known.type != 11) return std::nullopt;
  if (t) {
    const std::vector<double> all = elements_of(*t);
    if (known.is_real()) known.reals = all;
    else
      for (std::size_t i = 0; i < all.size(); ++i) known.wholes.push_back(whole_element(*t, i, all[i]));
    if (v.repeated) known.slope = v.repeated->slope;
  } else if (v.reals && known.is_real()) known.reals = *v.reals;
  else if (v.whole && !known.is_real()) {
    for (const Extent& each : *v.whole) {
      if (!each.is_number()) return std::nullopt;
      known.wholes.push_back(each.factor);
    }
  } else if (v.filled && known.is_real()) known.reals.assign(count, *v.filled);
  else if (v.filled) known.wholes.assign(count, v.whole_scalar());
  else if (v.special == Special::counting && !v.shape.empty() && !known.is_real()) count_along_last(known);
  return known.size() == count ? std::optional(known) : std::nullopt;
}

/// The number that all elements of a constant are, or nothing.
inline std::optional<double> equal_element(const Graph& g, int id) {
  if (g[id].filled) return g[id].filled;
  const auto known = known_of(g, id);
  return known && known->has_equal_elements() ? std::optional(known->real(0)) : std::nullopt;
}

inline ReadTensor tensor_of(const Known& known) {
  ReadTensor t{"", known.type, {known.extents.begin(), known.extents.end()}, {}};
  const auto put = [&](auto element) { t.bytes.append(reinterpret_cast<const char*>(&element), sizeof element); };
  for (const double each : known.reals)
    if (known.type == 1) put(float(each));
    else put(each);
  for (const long each : known.wholes)
    if (known.type == 6) put(std::int32_t(each));
    else if (known.type == 7) put(std::int64_t(each));
    else put(std::uint8_t(each != 0));
  return t;
}
/// Output k as a constant.
inline void give_constant(const NodeView& n, std::size_t k, ReadTensor t) {
  n.g.made_bytes += t.bytes.size();
  if (n.g.made_bytes > (std::size_t(1) << 20) + 4 * n.g.given_bytes)
    n.refuse("the file computes more constants than it has weights");
  Shape shape;
  for (const std::int64_t extent : t.extents) shape.push_back(Extent(long(extent)));
  const int type = t.type;
  n.g.made.push_back(std::move(t));
  describe_constant(n.out(k, shape, type), n.g.made.back());
}
/// A constant of which each sample has the same, as output k.
inline void give_repeated(const NodeView& n, std::size_t k, const Shape& shape, Repeated of) {
  n.g.made_bytes += of.one.bytes.size();
  if (n.g.made_bytes > (std::size_t(1) << 20) + 4 * n.g.given_bytes)
    n.refuse("the file computes more constants than it has weights");
  Value& v = n.out(k, shape, of.one.type);
  Value one;
  describe_constant(one, of.one);
  if (of.slope.empty()) v.special = one.special;
  v.origin = -1;
  v.repeated = std::make_shared<Repeated>(std::move(of));
}
/// Output k as these elements.
inline void give_known(const NodeView& n, std::size_t k, Known known) {
  if (std::all_of(known.slope.begin(), known.slope.end(), [](long each) { return each == 0; })) known.slope.clear();
  const bool is_filled = known.has_equal_elements();
  const double first = is_filled ? known.real(0) : 0;
  if (batch_axis(known.shape) == known.shape.size()) give_constant(n, k, tensor_of(known));
  else give_repeated(n, k, known.shape, {tensor_of(known), known.slope});
  Value& v = n.g[n.g.id_of.at(n.node.outputs[k])];
  v.origin = -1;
  if (is_filled && known.size() > 1 && (known.is_real() || std::abs(first) < 0x1p53)) v.filled = first;
}

/// Where each element of a shape is in one that is stretched to it.
inline std::vector<std::size_t> stretched_places(const std::vector<long>& to, const std::vector<long>& from) {
  const std::size_t count = count_of(to);
  std::vector<std::size_t> places(count);
  for (std::size_t i = 0; i < count; ++i) {
    std::size_t rest = i, stride = 1;
    for (std::size_t back = 1; back <= from.size(); ++back) {
      const auto extent = std::size_t(to[to.size() - back]), own = std::size_t(from[from.size() - back]);
      places[i] += rest % extent % own * stride;
      rest /= extent, stride *= own;
    }
  }
  return places;
}
/// The elements at these places.
inline Known placed(const Known& x, const Shape& shape, const std::vector<std::size_t>& places) {
  Known result(x.type, shape);
  for (const std::size_t place : places) {
    if (x.is_real()) result.reals.push_back(x.reals[place]);
    else result.wholes.push_back(x.wholes[place]);
    if (!x.is_plain()) result.slope.push_back(x.slope[place]);
  }
  return result;
}

}  // namespace importer
