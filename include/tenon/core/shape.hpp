// Shapes: as a type for users (Shape<dyn, 1, 28, 28>), as a value for the compiler's own graph (TensorType).
#pragma once
#include <cstddef>

#include <tenon/core/dtype.hpp>
#include <tenon/core/text/sentence.hpp>

namespace tenon::inline TENON_ABI {

/// The leading extent of a batch, known at run time: n. `times<k>` is k * n. Only the first extent may be dynamic.
inline constexpr int dyn = -1;
template <int K>
inline constexpr int times = -K;
inline constexpr int max_rank = 6;

/// Dtype and extents of a tensor. An extent of -k stands for k * n, where n is the batch size of the call.
struct TensorType {
  int extent[max_rank]{};
  int rank = 0;
  Dtype dtype = Dtype::float32;

  constexpr bool operator==(const TensorType&) const = default;
  TENON_DEVICE constexpr int operator[](int axis) const { return extent[axis]; }
  TENON_DEVICE constexpr int last() const { return extent[rank - 1]; }
  /// True if the leading extent depends on n.
  TENON_DEVICE constexpr bool batched() const { return rank > 0 && extent[0] < 0; }
  /// Extent of an axis for a batch of n.
  TENON_DEVICE constexpr long size(int axis, long n) const {
    return extent[axis] < 0 ? -extent[axis] * n : extent[axis];
  }
  /// Number of elements for a batch of n; `count(1)` is the number per sample.
  TENON_DEVICE constexpr long count(long n) const {
    long product = 1;
    for (int axis = 0; axis < rank; ++axis) product *= size(axis, n);
    return product;
  }
  /// Number of elements of the extents first .. last - 1, which must not be dynamic beyond n = 1.
  TENON_DEVICE constexpr long span(int first, int last) const {
    long product = 1;
    for (int axis = first; axis < last; ++axis) product *= size(axis, 1);
    return product;
  }
  [[gnu::noinline]] TENON_DEVICE constexpr long bytes(long n) const {
    return count(n) * static_cast<long>(size_of(dtype));
  }
  constexpr bool same_shape(const TensorType& other) const {
    if (rank != other.rank) return false;
    for (int axis = 0; axis < rank; ++axis)
      if (extent[axis] != other.extent[axis]) return false;
    return true;
  }
  constexpr TensorType with(Dtype d) const {
    TensorType t = *this;
    t.dtype = d;
    return t;
  }
};

/// Extents as a type.
template <int... Extents>
struct Shape {
  static_assert(sizeof...(Extents) <= max_rank, "a tensor has at most 6 axes");
  static constexpr int rank = sizeof...(Extents);
  static constexpr TensorType dims{{Extents...}, sizeof...(Extents), Dtype::float32};
};

/// The same extents for a tensor inside of a running cell: its type tells a cell that is called with it that it is a
/// part of a network, so that no graph of the part alone is compiled. Converts from and to the tensor with the plain
/// shape.
template <int... Extents>
struct InnerShape : Shape<Extents...> {};

/// The same extents for integers and bool inside of a network that computes in a 16-bit type: rows of a table that are
/// looked up by them have that type (ops/gather.hpp). Stands in graphs and in eager cells alike.
template <Dtype half, int... Extents>
struct HalfShape : Shape<Extents...> {};

/// TensorType of a C++ element type and a Shape.
template <class T, class S>
inline constexpr TensorType type_of = S::dims.with(dtype_of<T>);

namespace detail {
constexpr bool only_first_is_dynamic(const TensorType& t) {
  for (int axis = 1; axis < t.rank; ++axis)
    if (t.extent[axis] < 0) return false;
  return true;
}
constexpr bool has_countable_bytes(const TensorType& t) {
  double bytes = double(size_of(t.dtype));
  for (int axis = 0; axis < t.rank; ++axis) bytes *= double(t.size(axis, 1));
  return bytes <= double(1LL << 48);
}
}  // namespace detail

/// Writes an extent as in messages: 28, n, 2n.
[[gnu::noinline]] constexpr Sentence& write_extent(Sentence& s, int extent) {
  if (extent >= 0) return s << extent;
  return extent == dyn ? s << "n" : s << -extent << "n";
}
/// Writes the extents as in messages: [n,3,28,28], [2n,10].
[[gnu::noinline]] constexpr Sentence& operator<<(Sentence& s, const TensorType& t) {
  s << "[";
  for (int axis = 0; axis < t.rank; ++axis) write_extent(axis ? s << "," : s, t.extent[axis]);
  return s << "]";
}

namespace detail {
/// What is wrong with an assignment to a variable of another type.
constexpr Sentence other_type_assigned(const TensorType& variable, const TensorType& value) {
  Sentence s;
  s << "a variable of " << tenon::name(variable.dtype) << " " << variable << " cannot become "
    << tenon::name(value.dtype) << " " << value << ": give the new value a name of its own";
  if (variable.dtype == value.dtype) s << ", in a loop call cells that keep the shape, or a CellList as a whole";
  return s;
}
template <TensorType variable, TensorType value>
struct OtherTypeAssigned {
  static constexpr Sentence sentence = other_type_assigned(variable, value);
};
template <class>
struct TemporaryAssigned {
  static constexpr Sentence sentence =
      Sentence() << "this assigns to a temporary tensor, and changes no element: to write a part of x call "
                    "std::ranges::copy(row.values(), x[0].values().begin()), or x(0, j) = value for one element";
};
}  // namespace detail

/// Normalizes an axis that counts from the end: -1 is the last one. Returns -1 if there is no such axis.
constexpr int normalized_axis(int axis, int rank) {
  const int positive = axis < 0 ? axis + rank : axis;
  return positive >= 0 && positive < rank ? positive : -1;
}

}  // namespace tenon
