// The type of a column of a data set as an argument of a trace.
#pragma once
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

}  // namespace tenon::detail
