// Which lists and numbers of values fill a type.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <type_traits>

#include <tenon/core/tensor/list.hpp>

using namespace tenon;

TEST_CASE("a list fits static extents, and multiples of a dynamic one") {
  constexpr TensorType fixed = type_of<int, Shape<2, 3>>, rows = type_of<int, Shape<dyn, 3>>,
                       pairs = type_of<int, Shape<times<2>, 3>>;
  constexpr TensorType two = Shape<2, 3>::dims, three = Shape<3, 3>::dims, wide = Shape<2, 4>::dims;
  static_assert(detail::list_fits(fixed, two) && !detail::list_fits(fixed, three) && !detail::list_fits(fixed, wide));
  static_assert(detail::list_fits(rows, two) && detail::list_fits(rows, three) && !detail::list_fits(rows, wide));
  static_assert(detail::list_fits(pairs, two) && !detail::list_fits(pairs, three));
  static_assert(std::is_same_v<detail::RowShape<0>, Shape<>> && std::is_same_v<detail::RowShape<2>, Shape<3>>);
}

TEST_CASE("the batch size for a number of values") {
  CHECK(detail::batch_for(type_of<int, Shape<dyn, 3>>, 12) == 4);
  CHECK(detail::batch_for(type_of<int, Shape<times<2>, 3>>, 12) == 2);
  CHECK(detail::batch_for(type_of<int, Shape<3, 4>>, 12) == 1);
  CHECK(detail::batch_for(type_of<int, Shape<>>, 1) == 1);
  CHECK_THROWS_AS(detail::batch_for(type_of<int, Shape<>>, 0), ValueError);
  CHECK_THROWS_AS(detail::batch_for(type_of<int, Shape<dyn, 0>>, 0), ValueError);
  CHECK(detail::type_text(type_of<float16, Shape<times<2>, 3>>) == "float16 [2n,3]");
}
