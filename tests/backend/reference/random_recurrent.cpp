// Recurrent layers and attention of random shapes on both targets, with gradients.
// label: long
#define TENON_TARGET reference
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include "random_shapes.hpp"

#include <tenon/ops/attention.hpp>
#include <tenon/ops/gru.hpp>
#include <tenon/ops/lstm.hpp>

using namespace random_shapes;

TEST_CASE("500 recurrent layers and attentions of random shapes") {
  for_each_shape([]<int s>(long n) {
    constexpr int t = pick(s, 0, 1, 9), in = pick(s, 1, 1, 12), h = pick(s, 2, 1, 20), kind = pick(s, 3, 0, 2);
    constexpr bool reverse = pick(s, 4, 0, 1);
    if constexpr (kind == 0)
      compare([](auto x, auto v, auto w, auto b) { return std::get<0>(lstm<reverse>(x, v, w, b)); },
              random_tensor<float, Shape<dyn, t, in>>(1, -1, 1, n), random_tensor<float, Shape<4 * h, in>>(2),
              random_tensor<float, Shape<4 * h, h>>(3), random_tensor<float, Shape<4 * h>>(4));
    else if constexpr (kind == 1)
      compare([](auto x, auto w, auto b) { return std::get<0>(gru<reverse>(x, w, b)); },
              random_tensor<float, Shape<dyn, t, 3 * h>>(1, -1, 1, n), random_tensor<float, Shape<3 * h, h>>(2),
              random_tensor<float, Shape<3 * h>>(3));
    else {
      constexpr int heads = pick(s, 5, 1, 3), features = heads * pick(s, 6, 1, 9);
      constexpr AttentionConfig config{.heads = heads, .causal = reverse};
      compare([](auto q, auto k, auto v) { return attention<config>(q, k, v); },
              random_tensor<float, Shape<dyn, t, features>>(1, -1, 1, n),
              random_tensor<float, Shape<dyn, t, features>>(2, -1, 1, n),
              random_tensor<float, Shape<dyn, t, features>>(3, -1, 1, n));
    }
  });
}
