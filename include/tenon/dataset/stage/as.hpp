// as<Column<...>, ...>: the type of rows of a file, stated by the program.
#pragma once
#include <tenon/dataset/stage/column.hpp>

namespace tenon::inline TENON_ABI::dataset {

template <class... C>
struct As {};
/// The required columns of a file: `Csv("iris.csv", as<Column<float, Shape<4>, "petals">, Column<std::int32_t, Shape<>,
/// "kind">>)`. They are compared with the file when it is opened.
template <class... C>
inline constexpr As<C...> as{};

}  // namespace tenon::dataset
