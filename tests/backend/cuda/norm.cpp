// Normalization on the target Cuda: the bits of the CPU. (norm_sizes.cpp: more sizes.)
#define TENON_TARGET cuda
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include "norm.hpp"

using namespace norm_test;

TEST_CASE("layer norm") {
  check_layer_norm<float, Shape<dyn, 20>, Shape<20>>(70);
  check_layer_norm<float, Shape<dyn, 2500>, Shape<2500>>(3);
  check_layer_norm<float, Shape<dyn, 9>, Shape<9>>(4100);
  check_layer_norm<float16, Shape<dyn, 40>, Shape<40>>(5);
  check_layer_norm<double, Shape<dyn, 40>, Shape<40>, double>(5);
}
TEST_CASE("batch norm of images") {
  check_batch_norm<float, Shape<dyn, 3, 7, 7>, 3>(5);
  check_batch_norm<float, Shape<dyn, 6, 20, 20>, 6>(33);
  check_batch_norm<float, Shape<dyn, 33, 4, 4>, 33>(37);
}
TEST_CASE("batch norm of rows and of other types") {
  check_batch_norm<float, Shape<dyn, 40>, 40>(33);
  check_batch_norm<double, Shape<dyn, 3, 5, 5>, 3, double>(70);
  check_batch_norm<bfloat16, Shape<dyn, 3, 40, 40>, 3>(3);
}
TEST_CASE("frozen statistics are the moving ones") {
  const auto statistics = []<int... extents>(const Tensor<float, Shape<extents...>>& x) {
    const auto of = [](const auto& batch, const auto& mean, const auto& variance, const auto& frozen) {
      constexpr ops::BatchNormAttributes attributes{1e-5f, sizeof...(extents)};
      return apply<ops::BatchNormStatistics, attributes>(std::source_location::current(), batch, mean, variance,
                                                         frozen);
    };
    for (const float frozen : {0.0f, 1.0f})
      check_bits(of, x, random_tensor<float, Shape<3>>(2, 0, 1), random_tensor<float, Shape<3>>(3, 0, 1),
                 tensor_of<float, Shape<>>({frozen}));
  };
  statistics(random_tensor<float, Shape<dyn, 3, 5, 5>>(1, -1, 1, 4));
  statistics(random_tensor<float, Shape<dyn, 3>>(1, -1, 1, 40));
  statistics(random_tensor<float, Shape<4, 3, 5, 5>>(1, -1, 1));
}
