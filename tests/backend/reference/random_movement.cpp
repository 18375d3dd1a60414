// What moves elements of random shapes on both targets, with gradients.
// label: long
#define TENON_TARGET reference
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include "random_shapes.hpp"

#include <tenon/ops/concat.hpp>
#include <tenon/ops/pad.hpp>
#include <tenon/ops/slice.hpp>
#include <tenon/ops/split.hpp>
#include <tenon/ops/transpose.hpp>

using namespace random_shapes;

TEST_CASE("500 copies of random shapes") {
  for_each_shape([]<int s>(long n) {
    constexpr int a = pick(s, 0, 2, 9), b = pick(s, 1, 2, 33), kind = pick(s, 2, 0, 4);
    const auto x = random_tensor<float, Shape<dyn, a, b>>(1, -1, 1, n);
    const auto y = random_tensor<float, Shape<dyn, pick(s, 3, 1, 5), b>>(2, -1, 1, n);
    if constexpr (kind == 0) compare([](auto v, auto w) { return concat<1>(v, w, v); }, x, y);
    else if constexpr (kind == 1) compare([](auto v) { return transpose<0, 2, 1>(v); }, x);
    else if constexpr (kind == 2)
      compare([](auto v) { return slice<Part{}, Part{pick(s, 4, 0, a - 1), a}, Part{0, pick(s, 5, 1, b)}>(v); }, x);
    else if constexpr (kind == 3)
      compare([](auto v) { return std::get<1>(split_sizes<2, pick(s, 6, 1, b - 1), b - pick(s, 6, 1, b - 1)>(v)); }, x);
    else compare([](auto v) { return transpose<0, 2, 1>(concat<-1>(v, v)); }, x);
  });
}
