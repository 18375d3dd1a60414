// The type of a data set's rows: columns with element type, shape, and name, and the view of one row.
#pragma once
#include <cstddef>
#include <span>
#include <tuple>
#include <type_traits>
#include <utility>

#include <tenon/core/memory/storage.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/core/tensor/any_tensor.hpp>
#include <tenon/core/text/fixed_string.hpp>
#include <tenon/dataset/batch/ragged.hpp>
#include <tenon/dataset/stage/sample.hpp>

namespace tenon::inline TENON_ABI::dataset {

namespace detail {
// no specialization of Column: nvcc does not match one with a name
template <class S>
inline constexpr bool is_ragged = false;
template <int... Extents>
inline constexpr bool is_ragged<Ragged<Extents...>> = true;
}  // namespace detail

/// One column: `Column<float, Shape<1, 28, 28>, "image">` before batching,
/// `Column<float, Shape<dyn, 1, 28, 28>, "image">` after; `Column<std::uint8_t, Ragged<any, any, 3>>` if its samples
/// differ. The name is optional.
template <class T, class S, FixedString Name = "">
struct Column {
  static_assert(Element<T>, "a column holds bool, integers, float16, bfloat16, float or double");
  using type = T;
  using shape = S;
  static constexpr std::remove_cv_t<decltype(Name)> name = Name;
  static constexpr bool ragged = detail::is_ragged<S>;
  static constexpr TensorType tensor_type = type_of<T, std::conditional_t<ragged, Shape<>, S>>;  // ragged: its dtype
};
/// A column as C, with the name of another.
template <class C, class Named>
using NamedAs = Column<typename C::type, typename C::shape, Named::name>;

/// The columns of a data set, in order.
template <class... C>
struct Columns {
  // each is instantiated here: g++ 12 with -ftime-report breaks down where argument-dependent look-up has to do it
  static_assert(sizeof...(C) > 0 && (sizeof(C) + ...) > 0, "a data set has at least one column");
  static constexpr int count = sizeof...(C);
  static constexpr TensorType types[]{C::tensor_type...};
  /// Which columns have samples of unequal size: their memory is a RaggedValue.
  static constexpr bool ragged[]{C::ragged...};
  static constexpr bool any_ragged = (C::ragged || ...);
};

/// In place of Columns: the batches of bucket_batch_by_length, with a list for each bucket (batch/bucket_columns.hpp).
template <class... List>
struct BucketColumns;

TENON_INT_SIZES_BEGIN
/// How operations name a column: by position or by name, `map<0>(f)` or `map<"image">(f)`.
template <int N>
struct ColumnKey {
  char text[N]{};
  int place = -1;
  constexpr ColumnKey(const char (&name)[N]) {
    for (int i = 0; i < N; ++i) text[i] = name[i];
  }
  constexpr ColumnKey(int column) : place(column) {}
  /// As nvcc writes a key for the compiler after it.
  constexpr ColumnKey(const char (&name)[N], int column) : ColumnKey(name) { place = column; }
};
template <int N>
ColumnKey(const char (&)[N]) -> ColumnKey<N>;
ColumnKey(int) -> ColumnKey<1>;
TENON_INT_SIZES_END

namespace detail {
template <ColumnKey Key, class... C>
constexpr int place_of(Columns<C...>) {
  if (Key.place >= 0) return Key.place < int(sizeof...(C)) ? Key.place : -1;
  int place = 0, found = -1;
  ((C::name.view() == std::string_view(Key.text) && Key.text[0] && found < 0 ? void(found = place) : void(), ++place),
   ...);
  return found;
}
template <ColumnKey Key, class First, class... More>
constexpr int place_of(BucketColumns<First, More...>) {
  return place_of<Key>(First{});
}
}  // namespace detail
/// The position of a column in a list; -1 if the list has no such column.
template <class List, ColumnKey Key>
inline constexpr int column_place = detail::place_of<Key>(List{});

namespace detail {
template <class List, int I>
struct At;
template <int I, class... C>
struct At<Columns<C...>, I> : std::tuple_element<std::size_t(I), std::tuple<C...>> {};

template <int I, class New, class List, class Indices>
struct Replace;
template <int I, class New, class... C, std::size_t... Is>
struct Replace<I, New, Columns<C...>, std::index_sequence<Is...>> {
  using type = Columns<std::conditional_t<Is == I, New, C>...>;
};

// By the shape alone: nvcc does not match a Column with a name.
template <int N, class S>
struct BatchShape;
template <int N, int... Extents>
struct BatchShape<N, Shape<Extents...>> {
  static_assert(sizeof...(Extents) < max_rank, "batch adds an axis, and a tensor has at most 6");
  using type = Shape<N, Extents...>;
};
template <int N, class C>
struct Batch {
  using type = Column<typename C::type, typename BatchShape<N, typename C::shape>::type, C::name>;
};
template <int N, class List>
struct BatchAll;
template <int N, class... C>
struct BatchAll<N, Columns<C...>> {
  using type = Columns<typename Batch<N, C>::type...>;
};
}  // namespace detail

/// Column I of a list.
template <class List, int I>
using ColumnAt = typename detail::At<List, I>::type;
/// The list with column I replaced.
template <class List, int I, class New>
using WithColumn = typename detail::Replace<I, New, List, std::make_index_sequence<List::count>>::type;
/// The list with a leading extent N (or dyn) added to each column.
template <class List, int N>
using WithBatch = typename detail::BatchAll<N, List>::type;

/// One row: n samples (1 before batching) and where the data of each column is, contiguous and row-major.
/// Valid until the next row is asked for.
template <class List>
struct Row {
  static constexpr int count = List::count;
  long n = 0;
  const void* column[std::size_t(count)]{};
  // what owns the elements, for a tensor that shares them: a holder keeps them from being written over
  const Storage* owner[std::size_t(count)]{};

  /// Column i as a run-time view: dtype, extents, data. Throws ValueError if there is no such column.
  AnyTensor operator[](int i) const {
    if (i < 0 || i >= count)
      throw_error<ValueError>("Asked for column ", i, " of a row, legal are 0 .. ", count - 1, ".");
    if constexpr (List::any_ragged)
      if (List::ragged[i]) {
        const RaggedValue& value = *static_cast<const RaggedValue*>(column[i]);
        return AnyTensor(List::types[i].dtype, value.extents(), const_cast<void*>(value.data()));
      }
    // another target may have gathered the column, and a callback may change it before the step
    return AnyTensor(List::types[i], n, tenon::detail::home(static_cast<std::byte*>(const_cast<void*>(column[i]))));
  }
  /// The elements of column I: n samples, one after the other.
  template <int I>
  auto values() const {
    static_assert(I >= 0 && I < count, "values<I>: the data set has no column I; columns count from 0");
    using C = ColumnAt<List, I>;
    using T = typename C::type;
    if constexpr (C::ragged) return SampleView<C>(column[I]).values();
    else {
      const auto elements = static_cast<std::size_t>(List::types[I].count(n));
      return std::span<const T>(static_cast<const T*>(tenon::detail::home(column[I], elements * sizeof(T))), elements);
    }
  }
  /// The same by a column's name: `row.values<"label">()`.
  template <ColumnKey Key>
  requires(Key.place < 0)
  auto values() const {
    constexpr int place = column_place<List, Key>;
    static_assert(place >= 0, "values<\"name\">: the data set has no column of this name");
    return values<place>();
  }
  /// Column I as a tensor, also after the row's end: `for (const auto& [images, labels] : data)`. It shares the memory
  /// if the memory is reference-counted; otherwise it is a copy. A ragged column is a SampleView, valid until the next
  /// row is asked for.
  template <int I>
  auto get() const {
    using C = ColumnAt<List, I>;
    if constexpr (C::ragged) return SampleView<C>(column[I]);
    else return tensor<C, I>();
  }
  /// The same by a column's name: `row.get<"image">()`.
  template <ColumnKey Key>
  requires(Key.place < 0)
  auto get() const {
    constexpr int place = column_place<List, Key>;
    static_assert(place >= 0, "get<\"name\">: the data set has no column of this name");
    return get<place>();
  }

 private:
  template <class C, int I>
  auto tensor() const {
    using Result = Tensor<typename C::type, typename C::shape>;
    if (owner[I]) return Result(*owner[I], n);
    Result copy = Result::empty(n);
    std::memcpy(copy.data(), column[I], std::size_t(Result::dims.bytes(n)));
    return copy;
  }
};

}  // namespace tenon::dataset

template <class List>
struct std::tuple_size<tenon::dataset::Row<List>> : std::integral_constant<std::size_t, std::size_t(List::count)> {};
template <std::size_t I, class List>
struct std::tuple_element<I, tenon::dataset::Row<List>> {
  using type = decltype(std::declval<const tenon::dataset::Row<List>&>().template get<int(I)>());
};
