// Softmax, cross entropy, and layer norms of random shapes on both targets, with gradients.
// label: long
#define TENON_TARGET reference
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include "random_shapes.hpp"

#include <tenon/ops/layer_norm.hpp>
#include <tenon/ops/log_softmax.hpp>
#include <tenon/ops/softmax.hpp>

using namespace random_shapes;

TEST_CASE("500 normalizations of random shapes") {
  for_each_shape([]<int s>(long n) {
    constexpr int a = pick(s, 0, 1, 9), b = pick(s, 1, 2, 70), kind = pick(s, 2, 0, 2);
    const auto x = random_tensor<float, Shape<dyn, a, b>>(1, -3, 3, n);
    if constexpr (kind == 0) compare([](auto v) { return softmax<pick(s, 3, 1, 2)>(v); }, x);
    else if constexpr (kind == 1) compare([](auto v) { return log_softmax<pick(s, 3, 1, 2)>(v); }, x);
    else
      compare([](auto v, auto gamma,
                 auto beta) { return ops::layer_norm<ops::LayerNormAttributes{1e-5f}>(v, gamma, beta); },
              x, random_tensor<float, Shape<b>>(2), random_tensor<float, Shape<b>>(3));
  });
}
