// Places among sorted numbers: known ones, those of the standard library, and what is refused.
#include <algorithm>
#include <limits>

#include <doctest/doctest.h>

#include <tenon/more.hpp>

#include "../support/both_modes.hpp"
#include "../support/shape_rule.hpp"

using namespace tenon;

namespace {
template <class T>
void compare() {
  const auto sorted = sort(support::random_tensor<T, Shape<dyn, 37>>(1, -9, 9, 3));
  const auto& rows = std::get<0>(sorted);
  const auto values = support::random_tensor<T, Shape<dyn, 20>>(2, -11, 11, 3);
  const auto left =
      support::both_modes([](const auto& s, const auto& v) { return searchsorted(s, v); }, rows, values).result;
  const auto right =
      support::both_modes([](const auto& s, const auto& v) { return searchsorted<true>(s, v); }, rows, values).result;
  for (long i = 0; i < values.count(); ++i) {
    const T *const begin = rows.data() + i / 20 * 37, *const end = begin + 37;
    CHECK(left.data()[i] == std::lower_bound(begin, end, values.data()[i]) - begin);
    CHECK(right.data()[i] == std::upper_bound(begin, end, values.data()[i]) - begin);
  }
}
}  // namespace

TEST_CASE("searchsorted: the places of lower_bound and upper_bound") {
  compare<float>();
  compare<double>();
  compare<std::int32_t>();
}

TEST_CASE("searchsorted: borders of bins, equal elements, infinities, NaN") {
  constexpr float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  const auto borders = support::tensor_of<float, Shape<4>>({-1, 0, 0, 2});
  const auto x = support::tensor_of<float, Shape<dyn, 2, 4>>({-2, -1, 0, -0.0f, 1, 2, inf, nan});
  const auto left = support::both_modes([](const auto& b, const auto& v) { return searchsorted(b, v); }, borders, x);
  CHECK(support::same_bits(left.result, support::tensor_of<std::int32_t, Shape<dyn, 2, 4>>({0, 0, 1, 1, 3, 3, 4, 4})));
  const auto right =
      support::both_modes([](const auto& b, const auto& v) { return searchsorted<true>(b, v); }, borders, x);
  CHECK(support::same_bits(right.result, support::tensor_of<std::int32_t, Shape<dyn, 2, 4>>({0, 1, 3, 3, 3, 4, 4, 4})));
}

TEST_CASE("searchsorted: what does not fit is one sentence") {
  using support::type;
  CHECK(support::refusal<ops::SearchSorted>({}, {type<float, dyn, 4>(), type<float, dyn, 2, 4>()}) ==
        "SearchSorted needs sorted numbers [...,C] and values [...,K] of one dtype with the same first axes, got "
        "float32 [n,4] and float32 [n,2,4]");
  CHECK(support::refusal<ops::SearchSorted>({}, {type<float, 4>(), type<double, 4>()}) != "");
}
