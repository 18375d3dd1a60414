// Element-wise operators, broadcast of random shapes on both targets, with gradients.
// label: long
#define TENON_TARGET reference
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include "random_shapes.hpp"

#include <tenon/ops/add.hpp>
#include <tenon/ops/binary.hpp>
#include <tenon/ops/div.hpp>
#include <tenon/ops/gelu.hpp>
#include <tenon/ops/maximum.hpp>
#include <tenon/ops/mul.hpp>
#include <tenon/ops/sigmoid.hpp>
#include <tenon/ops/sub.hpp>
#include <tenon/ops/tanh.hpp>

using namespace random_shapes;

TEST_CASE("500 element-wise calls of random shapes") {
  for_each_shape([]<int s>(long n) {
    constexpr int a = pick(s, 0, 1, 9), b = pick(s, 1, 1, 33), kind = pick(s, 2, 0, 4);
    const auto x = random_tensor<float, Shape<dyn, a, b>>(1, -2, 2, n);
    const auto y = random_tensor<float, Shape<pick(s, 3, 0, 1) ? a : 1, pick(s, 4, 0, 1) ? b : 1>>(2, 0.5, 2);
    if constexpr (kind == 0) compare([](auto v, auto w) { return v * w + v; }, x, y);
    else if constexpr (kind == 1) compare([](auto v, auto w) { return v / w - w; }, x, y);
    else if constexpr (kind == 2) compare([](auto v, auto w) { return maximum(v, w); }, x, y);
    else if constexpr (kind == 3) compare([](auto v, auto w) { return sigmoid(v) * tanh(w); }, x, y);
    else compare([](auto v, auto w) { return gelu(v * w); }, x, y);
  });
}
