// describe(data): the contents of a data set as a table.
#pragma once
#include <algorithm>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <tenon/core/text/type_name.hpp>
#include <tenon/dataset/stage/stage.hpp>

namespace tenon::inline TENON_ABI::dataset {

namespace detail {

/// "Digits | Shuffled | Batched".
template <class D>
std::string stage_names() {
  std::string names;
  if constexpr (HasBefore<D>) names = stage_names<BeforeOf<D>>() + " | ";
  return names + std::string(class_name<D>());
}

/// "[n, 1, 28, 28]", "[any, any, 3]".
template <class C>
std::string column_shape() {
  std::string s = "[";
  const auto add = [&](std::string extent) { s += (s.size() > 1 ? ", " : "") + extent; };
  if constexpr (C::ragged)
    for (const int extent : C::shape::extent) add(extent == any ? "any" : std::to_string(extent));
  else
    for (int axis = 0; axis < C::tensor_type.rank; ++axis)
      add(C::tensor_type[axis] == dyn ? "n" : std::to_string(C::tensor_type[axis]));
  return s + "]";
}

template <class T>
std::string element_text(T value) {
  if constexpr (std::is_same_v<T, bool>) return value ? "true" : "false";
  else if constexpr (std::is_integral_v<T>) return std::to_string(value);
  else if constexpr (std::is_same_v<T, double>) return text(value);
  else return text(static_cast<float>(value));
}
/// "0 .. 2.5", without NaN, which has no order: "0 .. 2.5 and 3 NaN".
template <class T>
std::string range_text(std::span<const T> values) {
  T least{}, most{};
  std::size_t numbers = 0;
  for (const T value : values) {
    if constexpr (is_floating(dtype_of<T>))
      if (!(value == value)) continue;
    if (numbers == 0 || value < least) least = value;
    if (numbers == 0 || most < value) most = value;
    ++numbers;
  }
  const std::string nan = numbers < values.size() ? text(values.size() - numbers, " NaN") : "";
  if (numbers == 0) return nan;
  return element_text(least) + " .. " + element_text(most) + (nan.empty() ? "" : " and ") + nan;
}

/// Extents, the range of values, and the first of them.
template <class List, int I>
std::string value_summary(const Row<List>& row) {
  const auto values = row.template values<I>();
  std::string s = shape_text(row[I].shape());
  if (values.empty()) return s;
  s += " " + range_text(std::span(values)) + ": ";
  const std::size_t shown = std::min<std::size_t>(values.size(), 8);
  for (std::size_t i = 0; i < shown; ++i) s += (i ? " " : "") + element_text(values[i]);
  return s + (shown < values.size() ? " ..." : "");
}

// The same of columns that differ from bucket to bucket.
template <class List, int I>
std::string shape_of() {
  return column_shape<ColumnAt<List, I>>();
}
template <class List, int I>
requires requires { List::buckets; }
std::string shape_of() {
  return []<class... L>(std::type_identity<BucketColumns<L...>>) {
    std::string s;
    ((s += (s.empty() ? "" : " or ") + column_shape<ColumnAt<L, I>>()), ...);
    return s;
  }(std::type_identity<List>{});
}
template <int I>
std::string summary_of(const auto& row) {
  if constexpr (requires { row.bucket; })
    return row.visit([]<class List>(const Row<List>& one) { return value_summary<List, I>(one); });
  else return []<class List>(const Row<List>& one) { return value_summary<List, I>(one); }(row);
}

/// Columns of text, two blanks between them.
inline std::string aligned_table(const std::vector<std::vector<std::string>>& lines) {
  std::vector<std::size_t> width(lines[0].size());
  for (const auto& line : lines)
    for (std::size_t i = 0; i < line.size(); ++i) width[i] = std::max(width[i], line[i].size());
  std::string s;
  for (const auto& line : lines) {
    for (std::size_t i = 0; i < line.size(); ++i)
      s += line[i] + (i + 1 < line.size() ? std::string(width[i] - line[i].size() + 2, ' ') : "\n");
  }
  return s;
}

}  // namespace detail

/// A description of a data set as text: its stages, the number of rows, the columns with dtypes and shapes, and the
/// first rows of epoch 0 with the range of their values. Reads those rows; after filter, all rows of epoch 0.
template <Dataset D>
std::string describe(const D& data, long rows = 2) {
  using List = typename D::columns;
  return [&]<std::size_t... I>(std::index_sequence<I...>) {
    const long size = data.size();
    std::string s = detail::stage_names<D>() + "\n";
    s += size == detail::endless ? "rows without end" : text(size, size == 1 ? " row" : " rows");
    if (D::batched) s += text(" of ", List::types[0].batched() ? "up to " : "", data.max_rows(), " samples");
    std::vector<std::vector<std::string>> table{{"column", "name", "dtype", "shape"}};
    (table.push_back({std::to_string(I), std::string(ColumnAt<List, int(I)>::name.view()),
                      std::string(name(List::types[I].dtype)), detail::shape_of<List, int(I)>()}),
     ...);
    s += "\n" + detail::aligned_table(table);
    auto walk = data.open();
    walk.start(0);
    for (long i = 0; i < rows; ++i) {
      const auto* const row = walk.next();
      if (!row) break;
      s += text("row ", i, "\n");
      (s.append(text("  ", I, " ", detail::summary_of<int(I)>(*row), "\n")), ...);
    }
    return s;
  }(std::make_index_sequence<std::size_t(List::count)>{});
}

}  // namespace tenon::dataset
