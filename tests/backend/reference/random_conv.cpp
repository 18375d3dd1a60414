// Convolutions of random shapes on both targets, with gradients.
// label: long
#define TENON_TARGET reference
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include "random_shapes.hpp"

#include <tenon/ops/conv2d.hpp>

using namespace random_shapes;

TEST_CASE("500 convolutions of random shapes") {
  for_each_shape([]<int s>(long n) {
    constexpr int kh = pick(s, 0, 1, 5), kw = pick(s, 1, 1, 5), h = pick(s, 2, kh, 12), w = pick(s, 3, kw, 12),
                  groups = pick(s, 4, 1, 3), in = groups * pick(s, 5, 1, 6), out = groups * pick(s, 6, 1, 6);
    constexpr Conv2dOptions options{.stride = Pair(pick(s, 7, 1, 3), pick(s, 8, 1, 3)),
                                    .pad_mode = pick(s, 9, 0, 1) ? PadMode::same : PadMode::valid,
                                    .groups = groups};
    compare([](auto x, auto k) { return conv2d<options>(x, k); },
            random_tensor<float, Shape<dyn, in, h, w>>(1, -1, 1, n),
            random_tensor<float, Shape<out, in / groups, kh, kw>>(2));
  });
}
