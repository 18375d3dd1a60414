#include <doctest/doctest.h>

#include <tenon/core/spread.hpp>

using tenon::detail::spread;

TEST_CASE("spread: elements in order, by reference, and of no tuple at all") {
  std::tuple<int, char, double> values{1, 'b', 2.5};
  CHECK(spread([](int a, char b, double c) { return a == 1 && b == 'b' && c == 2.5; }, values));
  spread([](auto&... one) { (++one, ...); }, values);
  CHECK(values == std::tuple(2, 'c', 3.5));
  CHECK(&spread([](int& a, auto&...) -> int& { return a; }, values) == &std::get<0>(values));
  CHECK(spread([](auto... none) { return sizeof...(none); }, std::tuple<>()) == 0);
  static_assert(spread([](int a, int b) { return a - b; }, std::tuple(3, 1)) == 2);
}
