// Reductions of random shapes on both targets, with gradients.
// label: long
#define TENON_TARGET reference
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include "random_shapes.hpp"

#include <tenon/ops/reduce_max.hpp>
#include <tenon/ops/reduce_mean.hpp>
#include <tenon/ops/reduce_min.hpp>
#include <tenon/ops/reduce_prod.hpp>
#include <tenon/ops/reduce_sum.hpp>

using namespace random_shapes;

TEST_CASE("500 reductions of random shapes") {
  for_each_shape([]<int s>(long n) {
    constexpr int axis = pick(s, 0, 0, 2), other = pick(s, 1, 0, 2), kind = pick(s, 2, 0, 4);
    const auto x = random_tensor<float, Shape<dyn, pick(s, 3, 1, 40), pick(s, 4, 1, 90)>>(1, -1, 1, n);
    if constexpr (kind == 0) compare([](auto v) { return reduce_sum<axis>(v); }, x);
    else if constexpr (kind == 1 && axis != other) compare([](auto v) { return reduce_mean<axis, other>(v); }, x);
    else if constexpr (kind == 1) compare([](auto v) { return reduce_mean(v); }, x);
    else if constexpr (kind == 2) compare([](auto v) { return reduce_max<axis>(v); }, x);
    else if constexpr (kind == 3) compare([](auto v) { return reduce_min_keep<axis>(v); }, x);
    else compare([](auto v) { return reduce_prod<axis>(v); }, x);
  });
}
