// A data set from arrays in memory: one std::vector or tensor per column.
#pragma once
#include <cstring>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <tenon/core/memory/owned.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/dataset/stage/stage.hpp>

namespace tenon::inline TENON_ABI::dataset {

/// Samples of shape S, one after the other, shared by all copies.
template <class T, class S>
struct ArrayColumn {
  using column = Column<T, S>;
  static constexpr long sample_count = column::tensor_type.count(1);
  tenon::detail::Shared<const std::vector<T>> values;

  long size() const { return static_cast<long>(values->size()) / sample_count; }
  void sample(long index, void* out) const {
    std::memcpy(out, values->data() + index * sample_count, sample_count * sizeof(T));
  }
};

/// A column of samples of shape S: `column<Shape<4>>(features)`, `column<Shape<>>(labels)` for one number per sample.
/// Throws ValueError if the vector is empty or does not hold whole samples. Move the vector in to avoid a copy.
template <class S, class T>
ArrayColumn<T, S> column(std::vector<T> values) {
  static_assert(!std::is_same_v<T, bool>, "std::vector<bool> packs its bits: use std::vector<std::uint8_t>");
  static_assert(Element<T>, "a column holds integers, float16, bfloat16, float or double");
  constexpr long count = S::dims.count(1);
  static_assert(!S::dims.batched() && count > 0,
                "column<Shape<...>>: give the shape of one sample, with extents of 1 or more");
  if (values.empty()) throw_error<ValueError>("A column got an empty array; a data set needs at least one sample.");
  if (values.size() % count != 0)
    throw_error<ValueError>("A column got ", values.size(), " values, which is no multiple of the ", count,
                            " values of one sample; check the shape in column<Shape<...>>.");
  return {tenon::detail::Shared<const std::vector<T>>::make(std::move(values))};
}

/// The column of a tensor, a sample for each index of its first axis. The elements are copied.
template <class T, int First, int... Extents>
auto column(const Tensor<T, Shape<First, Extents...>>& values) {
  static_assert(!std::is_same_v<T, bool>, "a column has no bool: cast<std::int32_t>(x)");
  static_assert(First == dyn || First > 0, "a column of a tensor needs a first axis of n samples");
  const std::span<const T> elements = values.values();
  return column<Shape<Extents...>>(std::vector<T>(elements.begin(), elements.end()));
}

template <class A>
concept IsTensorColumn = requires(const A& array) { dataset::column(array); };

/// The data set that from_arrays returns.
template <class... A>
struct Arrays : Source<Arrays<A...>>, detail::SamplesMayBeThere {
  using columns = Columns<typename A::column...>;
  std::tuple<A...> arrays;

  explicit Arrays(A... array) : arrays(std::move(array)...) {}
  long size() const { return std::get<0>(arrays).size(); }
  void describe(auto& d) const {
    std::apply([&d](const A&... array) { (d.add_content(array.values->data(), array.values->size()), ...); }, arrays);
  }
  void sample(long index, void* const* out) const {
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      (std::get<I>(arrays).sample(index, out[I]), ...);
    }(std::index_sequence_for<A...>{});
  }
#if defined(TENON_TARGET)
  detail::ColumnInMemory in_memory(int column) const {
    return std::apply(
        [=, this](const A&... array) {
          const detail::ColumnInMemory all[]{
              detail::column_in_memory<typename A::column>(array.values->data(), size())...};
          return all[column];
        },
        arrays);
  }
  void sample_on_host(long index, void* const* out) const {
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      ((detail::needed_on_host<typename A::column> ? std::get<I>(arrays).sample(index, out[I]) : void()), ...);
    }(std::index_sequence_for<A...>{});
  }
#endif
};

/// Joins columns of equal length into a data set: `from_arrays(column<Shape<4>>(features), column<Shape<>>(labels))`.
/// Throws ValueError if the lengths differ.
template <class... T, class... S>
auto from_arrays(ArrayColumn<T, S>... columns) {
  static_assert(sizeof...(T) > 0, "from_arrays needs at least one column");
  const long sizes[]{columns.size()...};
  for (std::size_t i = 1; i < sizeof...(T); ++i)
    if (sizes[i] != sizes[0])
      throw_error<ValueError>("from_arrays got columns of different length: column 0 has ", sizes[0],
                              " samples, column ", i, " has ", sizes[i], "; all must be equal.");
  return Arrays<ArrayColumn<T, S>...>(std::move(columns)...);
}
/// The same from tensors, beside columns if need be: `from_arrays(points, labels)` has a sample for each index of their
/// first axis. Source: PyTorch's TensorDataset.
template <class... A>
requires(IsTensorColumn<A> || ...)
auto from_arrays(const A&... arrays) {
  return dataset::from_arrays([](const auto& array) {
    if constexpr (requires { dataset::column(array); }) return dataset::column(array);
    else return array;
  }(arrays)...);
}

}  // namespace tenon::dataset
