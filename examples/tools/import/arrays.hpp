// Constants of the file as arrays of numbers, and the elements that a node takes of them.
#pragma once
#include "constants.hpp"

namespace importer::evaluation {
using Extents = std::vector<long>;
using Offsets = std::vector<std::size_t>;

/// Most elements of a constant that the tool computes.
inline constexpr std::size_t most_computed = std::size_t(1) << 25;

inline std::size_t elements_in(const Extents& extents) {
  std::size_t all = 1;
  for (const long each : extents) {
    if (each < 0 || (all != 0 && std::size_t(each) > most_computed)) return most_computed + 1;
    all *= std::size_t(each);
    if (all > most_computed) return most_computed + 1;
  }
  return all;
}

/// The elements of a constant: real numbers, or whole ones, which float64 does not hold.
struct Array {
  int type = 1;  // TensorProto.DataType
  Extents extents{};
  std::vector<double> reals{};
  std::vector<long> wholes{};

  bool is_real() const { return is_real_type(type); }
  std::size_t count() const { return is_real() ? reals.size() : wholes.size(); }
  double number(std::size_t i) const { return is_real() ? reals[i] : double(wholes[i]); }
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
inline Array taken(const Array& x, Extents extents, const Offsets& places) {
  Array y{x.type, std::move(extents)};
  for (const std::size_t at : places)
    if (x.is_real()) y.reals.push_back(x.reals[at]);
    else y.wholes.push_back(x.wholes[at]);
  return y;
}
inline std::optional<Extents> numbers_of(const Shape& shape) {
  Extents extents;
  for (const Extent& each : shape) {
    if (!each.is_number() || each.factor < 0) return std::nullopt;
    extents.push_back(each.factor);
  }
  return elements_in(extents) > most_computed ? std::nullopt : std::optional(extents);
}
/// The elements of a value, if the file knows all of them.
inline std::optional<Array> array_of(const Value& v) {
  const bool counts = v.special == Special::counting && !v.shape.empty();
  const auto extents = v.has_shape ? numbers_of(v.shape) : std::nullopt;
  if (!extents || (!v.is_constant() && !counts)) return std::nullopt;
  Array x{v.type, *extents};
  const std::size_t all = elements_in(*extents);
  if (v.tensor) {
    const std::vector<double> about = elements_of(*v.tensor);
    if (x.is_real()) x.reals = about;
    else
      for (std::size_t i = 0; i < about.size(); ++i) x.wholes.push_back(whole_element(*v.tensor, i, about[i]));
  } else if (v.whole) {
    for (const Extent& each : *v.whole) {
      if (!each.is_number()) return std::nullopt;
      if (x.is_real()) x.reals.push_back(double(each.factor));
      else x.wholes.push_back(each.factor);
    }
  } else if (v.reals) {
    if (!x.is_real()) return std::nullopt;
    x.reals = *v.reals;
  } else if (v.filled) {
    if (x.is_real()) x.reals.assign(all, *v.filled);
    else x.wholes.assign(all, v.whole_scalar());
  } else
    for (std::size_t i = 0; i < all; ++i)
      if (x.is_real()) x.reals.push_back(double(long(i) % extents->back()));
      else x.wholes.push_back(long(i) % extents->back());
  return x.count() == all ? std::optional(std::move(x)) : std::nullopt;
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
      case 6: put(std::int32_t(x.wholes[i])); break;
      case 7: put(std::int64_t(x.wholes[i])); break;
      default: return std::nullopt;
    }
  return t;
}

}  // namespace importer::evaluation
