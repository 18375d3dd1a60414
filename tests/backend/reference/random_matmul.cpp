// Products of matrices and of stacks of random shapes on both targets, with gradients.
// label: long
#define TENON_TARGET reference
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include "random_shapes.hpp"

#include <tenon/ops/matmul.hpp>

using namespace random_shapes;

TEST_CASE("500 products of random shapes") {
  for_each_shape([]<int s>(long n) {
    constexpr int k = pick(s, 0, 1, 70), m = pick(s, 1, 1, 40), t = pick(s, 2, 1, 5), kind = pick(s, 3, 0, 3);
    if constexpr (kind == 0)
      compare([](auto x, auto w) { return matmul(x, w); }, random_tensor<float, Shape<dyn, k>>(1, -1, 1, n),
              random_tensor<float, Shape<k, m>>(2));
    else if constexpr (kind == 1)
      compare([](auto x, auto w) { return matmul<Transposed::second>(x, w); },
              random_tensor<float, Shape<dyn, t, k>>(1, -1, 1, n), random_tensor<float, Shape<m, k>>(2));
    else if constexpr (kind == 2)
      compare([](auto x, auto w) { return matmul(x, w); }, random_tensor<float, Shape<dyn, t, k>>(1, -1, 1, n),
              random_tensor<float, Shape<dyn, k, m>>(2, -1, 1, n));
    else
      compare([](auto x, auto w) { return matmul<Transposed::first>(x, w); },
              random_tensor<double, Shape<dyn, k, t>>(1, -1, 1, n),
              random_tensor<double, Shape<dyn, k, m>>(2, -1, 1, n));
  });
}
