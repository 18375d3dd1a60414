// A column from an xtensor. Needs xtensor.
#pragma once
#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include <tenon/core/xtensor.hpp>
#include <tenon/dataset/source/from_arrays.hpp>

namespace tenon::inline TENON_ABI::dataset {

/// A container or expression of xtensor as a column for from_arrays, in row-major order, a sample for each index of its
/// first axis: `from_arrays(column_of<Shape<4>>(features), column_of<Shape<>>(labels))`. It is copied. Throws
/// ValueError unless its shape is [n, S...].
template <class S, class Expression>
auto column_of(const Expression& expression) {
  using T = typename Expression::value_type;
  std::vector<std::int64_t> shape(expression.shape().begin(), expression.shape().end());
  bool fits = shape.size() == static_cast<std::size_t>(S::rank) + 1;
  for (int axis = 0; fits && axis < S::rank; ++axis) fits = shape[static_cast<std::size_t>(axis) + 1] == S::dims[axis];
  if (!fits)
    throw_error<ValueError>("An xtensor of the shape ", shape_text(shape), " is no column of samples ",
                            tenon::detail::type_text(type_of<T, S>), ": it needs one axis before these.");
  std::vector<T> values(expression.size());
  std::copy(expression.template begin<xt::layout_type::row_major>(),
            expression.template end<xt::layout_type::row_major>(), values.begin());
  return column<S>(std::move(values));
}

}  // namespace tenon::dataset
