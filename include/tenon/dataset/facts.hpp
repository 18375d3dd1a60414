// get_dataset_size(data) and other properties of a data set, and its first row.
#pragma once
#include <cstdint>
#include <set>
#include <tuple>
#include <type_traits>
#include <utility>

#include <tenon/dataset/map/call.hpp>
#include <tenon/dataset/operation/repeat.hpp>
#include <tenon/dataset/stage/stage.hpp>

namespace tenon::inline TENON_ABI::dataset {

/// The number of rows in epoch 0; after batch, the number of batches. The same as data.size().
template <Dataset D>
long get_dataset_size(const D& data) {
  return data.size();
}

/// The batch size that batch was given, or 1 without batch.
template <Dataset D>
long get_batch_size(const D& data) {
  if constexpr (!HasBefore<D>) return 1;
  else if constexpr (D::batched && !detail::BeforeOf<D>::batched && requires { long{data.batch_size}; })
    return data.batch_size;
  else return get_batch_size(data.data);
}

/// How many times repeat returns the rows in one epoch; 1 without repeat.
template <Dataset D>
long get_repeat_count(const D& data) {
  long count = 1;
  if constexpr (HasBefore<D>) count = get_repeat_count(data.data);
  if constexpr (detail::is_repeated<D>) count *= data.passes;
  return count;
}

/// The number of different values in a column of integers, as `num_classes<"label">(data)`; reads all rows of epoch 0.
template <ColumnKey Key, Dataset D>
long num_classes(const D& data) {
  constexpr int I = column_place<typename D::columns, Key>;
  if constexpr (I < 0) {
    using Wrong = Mistake<detail::MissingColumn<typename D::columns, Key>>;
    return Wrong::corrected;
  } else {
    constexpr bool integers = std::is_integral_v<typename ColumnAt<typename D::columns, I>::type>;
    static_assert(integers, "num_classes<\"label\">: the column holds integers, a class each");
    std::set<std::int64_t> labels;
    for (const auto& row : data)
      for (const auto label : row.template values<I>()) labels.insert(static_cast<std::int64_t>(label));
    return static_cast<long>(labels.size());
  }
}

/// The first row of epoch 0 as a std::tuple of tensors: `const auto [x, y] = first_row(data);`. After batch it is the
/// first batch, and after batch(data.size()) all samples. The tensors own their elements.
///
/// throws   ValueError if the data set has no row
/// Source: PyTorch's next(iter(loader)).
template <Dataset D>
auto first_row(const D& data) {
  constexpr bool dense = !D::columns::any_ragged;
  static_assert(dense, "first_row: samples of a ragged column are no tensor; bring them to one shape by pad or map");
  auto rows = data.open();
  rows.start(0);
  const auto* const row = rows.next();
  if (!row) throw_error<ValueError>("first_row: the data set has no row.");
  return [&]<int... I>(std::integer_sequence<int, I...>) {
    return std::tuple(row->template get<I>()...);
  }(std::make_integer_sequence<int, D::columns::count>{});
}

}  // namespace tenon::dataset
