// The columns of a data set as arguments: their types in a trace, their values in PyNative mode.
#pragma once
#include <tenon/call/inner.hpp>
#include <tenon/dataset/stage/stage.hpp>
#include <tenon/graph/ir/traced.hpp>

namespace tenon::inline TENON_ABI::detail {

template <class T, class S>
struct KeyOfShape;
template <class T, int... E>
struct KeyOfShape<T, Shape<E...>> {
  using type = TypeKey<dtype_of<T>, E...>;
};
template <class C>
struct ColumnKey {
  using type = typename KeyOfShape<typename C::type, typename C::shape>::type;
};

/// Calls f with the columns of a row as tensors inside of a cell.
template <std::size_t columns, class List, class F>
auto with_columns(const dataset::Row<List>& row, const F& f) {
  return [&]<std::size_t... I>(std::index_sequence<I...>) {
    return f(inner(row.template get<int(I)>())...);
  }(std::make_index_sequence<columns>());
}

}  // namespace tenon::detail
