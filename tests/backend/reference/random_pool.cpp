// Pooling of random shapes on both targets, with gradients.
// label: long
#define TENON_TARGET reference
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include "random_shapes.hpp"

#include <tenon/ops/pool2d.hpp>

using namespace random_shapes;

TEST_CASE("500 poolings of random shapes") {
  for_each_shape([]<int s>(long n) {
    constexpr int kh = pick(s, 0, 1, 4), kw = pick(s, 1, 1, 4), h = pick(s, 2, kh, 12), w = pick(s, 3, kw, 12);
    constexpr Pool2dOptions options{.kernel = Pair(kh, kw),
                                    .stride = Pair(pick(s, 4, 1, 3), pick(s, 5, 1, 3)),
                                    .pad_mode = pick(s, 6, 0, 1) ? PadMode::same : PadMode::valid};
    const auto x = random_tensor<float, Shape<dyn, pick(s, 7, 1, 20), h, w>>(1, -1, 1, n);
    if constexpr (pick(s, 8, 0, 1)) compare([](auto v) { return max_pool2d<options>(v); }, x);
    else compare([](auto v) { return avg_pool2d<options>(v); }, x);
  });
}
