// Indices that count from the end, ranges, and the shapes of parts.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <type_traits>
#include <vector>

#include <tenon/core/tensor/index.hpp>

using namespace tenon;

TEST_CASE("every index of a short axis, legal and not") {
  for (long index = -5; index <= 4; ++index) {
    if (index < -3 || index > 2) CHECK_THROWS_AS(detail::checked_index(index, 1, 3), ValueError);
    else CHECK(detail::checked_index(index, 1, 3) == (index + 3) % 3);
  }
}

TEST_CASE("every range of a short axis agrees with counting") {
  for (long begin = -4; begin <= 4; ++begin)
    for (long end = -4; end <= 4; ++end) {
      const long first = begin < 0 ? begin + 3 : begin, last = end < 0 ? end + 3 : end;
      if (first < 0 || last > 3 || first > last) CHECK_THROWS_AS(detail::checked_range({begin, end}, 3), ValueError);
      else {
        const Range r = detail::checked_range({begin, end}, 3);
        CHECK(r.begin == first);
        CHECK(r.end == last);
      }
    }
  CHECK(detail::checked_range({}, 3).end == 3);
  CHECK(detail::checked_range({}, 0).end == 0);
}

TEST_CASE("shapes of parts") {
  static_assert(std::is_same_v<detail::Without<Shape<dyn, 2, 3>>, Shape<2, 3>>);
  static_assert(std::is_same_v<detail::Without<Shape<4>>, Shape<>>);
  static_assert(std::is_same_v<detail::WithLeading<Shape<4, 5>, dyn>, Shape<dyn, 5>>);
  static_assert(std::is_same_v<detail::WithExtent<Shape<dyn, 2, 3>, 2, 1>, Shape<dyn, 2, 1>>);
}

TEST_CASE("columns are copied block by block") {
  std::vector<int> from(2 * 3 * 4), to(2 * 2 * 4, -1);
  for (int i = 0; i < 24; ++i) from[std::size_t(i)] = i;
  detail::copy_columns(type_of<int, Shape<dyn, 3, 4>>, 2, 1, 1, 3, reinterpret_cast<const std::byte*>(from.data()),
                       reinterpret_cast<std::byte*>(to.data()));
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 8; ++j) CHECK(to[std::size_t(i * 8 + j)] == i * 12 + 4 + j);
}
