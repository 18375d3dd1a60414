// What the importer knows of the values of an ONNX graph: extents, constants, and where they come from.
#pragma once
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <tenon/onnx/read_model.hpp>

#include "names.hpp"

namespace importer {
using tenon::throw_error, tenon::text, tenon::ValueError;
using tenon::onnx::ReadTensor, tenon::onnx::ReadNode, tenon::onnx::ReadModel, tenon::onnx::ReadGraph;

/// A number times powers of the dynamic axes; axis 0 is the batch.
struct Extent {
  static constexpr int most_symbols = 4;
  long factor = 1;
  std::array<int, most_symbols> power{};

  Extent(long number = 1) : factor(number) {}
  static Extent symbol(int which) {
    Extent e;
    e.power[std::size_t(which)] = 1;
    return e;
  }
  bool is_number() const { return power == std::array<int, most_symbols>{}; }
  bool has_batch() const { return power[0] != 0; }
  bool operator==(const Extent&) const = default;
  Extent operator*(const Extent& other) const {
    Extent e;
    bool fits =
        !__builtin_mul_overflow(factor, other.factor, &e.factor) && e.factor < 1l << 60 && e.factor > -(1l << 60);
    for (std::size_t k = 0; k < power.size(); ++k) {
      e.power[k] = power[k] + other.power[k];
      fits = fits && e.power[k] <= most_symbols;
    }
    if (e.factor == 0) return Extent(0);
    if (!fits) throw_error<ValueError>("a shape has more elements than any memory.");
    return e;
  }
  /// The quotient if it is exact.
  std::optional<Extent> over(const Extent& other) const {
    if (other.factor == 0) return std::nullopt;
    const bool overflows = factor == std::numeric_limits<long>::min() && other.factor == -1;  // stops the program
    if (overflows || factor % other.factor != 0) return std::nullopt;
    Extent e(factor / other.factor);
    for (std::size_t k = 0; k < power.size(); ++k) {
      e.power[k] = power[k] - other.power[k];
      if (e.power[k] < 0) return std::nullopt;
    }
    return e;
  }
};
using Shape = std::vector<Extent>;

inline Extent count_of(const Shape& shape) {
  Extent all(1);
  for (const Extent& extent : shape) all = all * extent;
  return all;
}

/// What is special about a value that has no code of its own yet.
enum class Special {
  none,
  counting,       // 0, 1, 2, ... along its last axis
  lower,          // ones on and below the diagonal, zeros above
  above,          // true above the diagonal
  hidden,         // minus infinity above the diagonal, zeros elsewhere
  nearly_hidden,  // the same with the least float32
  view,           // axes of another value, moved, cut, and joined
  scores,         // of an attention: queries times keys
  attended,       // the softmax of scores
  all_states,     // the output of such an operator: [T, directions, n, H]
  states_moved,   // the same as [T, n, directions, H]
  last_states     // [layers and directions, n, H] of `of`, which is [n, layers and directions, H]
};

/// A part of an axis: of axis `axis`, cut into outer and inner parts, `extent` parts of `inner` elements each.
struct Piece {
  std::size_t axis;
  long inner;
  Extent extent;
  bool operator==(const Piece&) const = default;
};
/// What a value is of another one, whose samples come first: the pieces of each of its axes, outer ones first.
struct View {
  int base;
  std::vector<std::vector<Piece>> dims;
  long first = 0, width = 0;  // which part of the last axis of the base it has
  double scale = 1;           // a number that it is multiplied with
};
/// Queries times keys. Both are views, with the heads among their pieces.
struct Scores {
  View queries, keys;
  long heads, features;
  double scale = 1;  // beside those of the two
  bool is_causal = false;
};

struct Value {
  std::string name;
  int type = 0;  // TensorProto.DataType
  bool has_shape = false;
  Shape shape;
  const ReadTensor* tensor = nullptr;        // of a constant
  std::optional<std::vector<Extent>> whole;  // the elements of a small constant of whole numbers
  std::optional<std::vector<double>> reals;  // of a small one of real numbers
  std::optional<double> filled;              // with one number
  Special special = Special::none;
  std::shared_ptr<const View> view;      // of Special::view
  std::shared_ptr<const Scores> scores;  // of Special::scores and Special::attended
  int of = -1;
  long place = 0;     // of the first of last_states
  int call = -1;      // which makes it
  int origin = -1;    // the only input that it depends on, or -1
  std::string scope;  // of the node that makes it

  bool is_constant() const { return tensor || whole || reals || filled; }
  bool is_scalar() const {
    return ((reals && reals->size() == 1) || filled || (whole && whole->size() == 1 && (*whole)[0].is_number()));
  }
  /// A whole number as it is: float64 does not hold all of int64.
  long whole_scalar() const {
    if (whole) return (*whole)[0].factor;
    const double about = std::trunc(scalar());
    if (std::isnan(about)) return 0;
    return about >= 0x1p63   ? std::numeric_limits<long>::max()
           : about < -0x1p63 ? std::numeric_limits<long>::min()
                             : long(about);
  }
  double scalar() const { return filled ? *filled : reals ? (*reals)[0] : double((*whole)[0].factor); }
};

inline bool is_real_type(int type) { return type == 1 || type == 10 || type == 11 || type == 16; }

/// The elements of a tensor as numbers.
inline std::vector<double> elements_of(const ReadTensor& t) {
  std::vector<double> all;
  const auto take = [&]<class T>(T) {
    for (std::size_t i = 0; i + sizeof(T) <= t.bytes.size(); i += sizeof(T)) {
      T element;
      std::memcpy(&element, t.bytes.data() + i, sizeof(T));
      all.push_back(double(element));
    }
  };
  switch (t.type) {
    case 1: take(float()); break;
    case 2:
    case 9: take(std::uint8_t()); break;
    case 3: take(std::int8_t()); break;
    case 4: take(std::uint16_t()); break;
    case 5: take(std::int16_t()); break;
    case 6: take(std::int32_t()); break;
    case 7: take(std::int64_t()); break;
    case 11: take(double()); break;
    case 12: take(std::uint32_t()); break;
    default: break;
  }
  return all;
}

/// A whole number of a tensor; float64 does not hold all of int64.
inline long whole_element(const ReadTensor& t, std::size_t i, double about) {
  if (t.type != 7) return long(about);
  std::int64_t element = 0;
  std::memcpy(&element, t.bytes.data() + i * sizeof element, sizeof element);
  return long(element);
}

/// Whether a tensor is a weight that can be trained further: those that an exporter made have other names.
inline bool is_weight(const ReadTensor& t) {
  return t.type == 1 && !t.name.empty() && t.name.find(':') == t.name.npos && t.name[0] != '/';
}

/// Finds out whether a constant is a mask: a square, alone in its leading axes, that differs above its diagonal.
inline void describe_triangle(Value& v, const std::vector<double>& all) {
  const std::size_t rank = v.shape.size();
  const auto side = rank < 2 ? 0 : std::size_t(v.shape[rank - 1].factor);
  if (side < 2 || !(v.shape[rank - 1] == v.shape[rank - 2]) || all.size() != side * side) return;
  const double first = all[1], least = double(-std::numeric_limits<float>::max());
  bool lower = true, above = true, hidden = is_real_type(v.type) && (first == -INFINITY || first == least);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const bool is_lower = i % side <= i / side;
    lower = lower && all[i] == (is_lower ? 1 : 0);
    above = above && all[i] == (is_lower ? 0 : 1);
    hidden = hidden && all[i] == (is_lower ? 0 : first);
  }
  if (lower) v.special = Special::lower;
  if (above && v.type == 9) v.special = Special::above;
  if (hidden) v.special = first == least ? Special::nearly_hidden : Special::hidden;
}
/// Finds out what a constant is.
inline void describe_constant(Value& v, const ReadTensor& t) {
  v.tensor = &t;
  v.type = t.type;
  v.has_shape = true;
  v.shape.clear();
  for (const std::int64_t extent : t.extents) v.shape.push_back(Extent(long(extent)));
  const std::int64_t count = t.count();
  if (count > 1 << 22) return;
  const bool is_square = t.extents.size() >= 2 && t.extents.back() == t.extents[t.extents.size() - 2] &&
                         count == t.extents.back() * t.extents.back() && t.extents.back() > 1;
  if (count > 64 && !is_square && is_real_type(t.type)) return;
  const std::vector<double> all = elements_of(t);
  if (std::int64_t(all.size()) != count) return;
  if (is_real_type(t.type)) {
    if (count <= 16) v.reals = all;
  } else {
    if (count <= 64) {
      v.whole.emplace();
      for (std::size_t i = 0; i < all.size(); ++i) v.whole->push_back(Extent(whole_element(t, i, all[i])));
    }
    bool counts = count > 1 && t.extents.back() == count;
    for (std::size_t i = 0; counts && i < all.size(); ++i) counts = all[i] == double(i);
    if (counts) v.special = Special::counting;
  }
  if (is_square) describe_triangle(v, all);
}

}  // namespace importer
