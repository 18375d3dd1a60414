// Normalization on the target Cuda: the bits of the CPU.
#define TENON_TARGET cuda
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <tenon/ops/ops.hpp>

#include "../../support/both_modes.hpp"
#include "beside_cpu.hpp"

using namespace tenon;
using namespace support;

namespace {
template <class T, class X, class Gamma, class P = float>
void check_layer_norm(long n) {
  both_modes([](const auto& x, const auto& gamma, const auto& beta) { return layer_norm(x, gamma, beta); },
             random_tensor<T, X>(1, -2, 3, n), random_tensor<P, Gamma>(2, -1, 1), random_tensor<P, Gamma>(3, -1, 1));
}
template <class T, class X, int channels, class P = float>
void check_batch_norm(long n) {
  const auto norm = [](const auto& x, const auto& gamma, const auto& beta) {
    constexpr ops::BatchNormAttributes attributes{1e-5f, X::rank};
    const auto here = std::source_location::current();
    return apply<ops::BatchNorm, attributes>(here, x, apply<ops::BatchNormStatistics, attributes>(here, x), gamma,
                                             beta);
  };
  both_modes(norm, random_tensor<T, X>(1, -2, 3, n), random_tensor<P, Shape<channels>>(2, -1, 1),
             random_tensor<P, Shape<channels>>(3, -1, 1));
}
}  // namespace

TEST_CASE("layer norm") {
  check_layer_norm<float, Shape<dyn, 20>, Shape<20>>(70);
  check_layer_norm<float, Shape<dyn, 3, 40>, Shape<3, 40>>(5);
  check_layer_norm<float, Shape<dyn, 2500>, Shape<2500>>(3);
  check_layer_norm<float, Shape<dyn, 33>, Shape<33>>(600);
  check_layer_norm<float, Shape<dyn, 9>, Shape<9>>(4100);
  check_layer_norm<float, Shape<dyn, 2>, Shape<2>>(8200);
  check_layer_norm<float16, Shape<dyn, 40>, Shape<40>>(5);
  check_layer_norm<double, Shape<dyn, 40>, Shape<40>, double>(5);
}
TEST_CASE("batch norm of images") {
  check_batch_norm<float, Shape<dyn, 3, 7, 7>, 3>(5);
  check_batch_norm<float, Shape<dyn, 6, 20, 20>, 6>(33);
  check_batch_norm<float, Shape<dyn, 2, 2, 2>, 2>(16 * 18);
  check_batch_norm<float, Shape<dyn, 33, 4, 4>, 33>(37);
  check_batch_norm<float, Shape<dyn, 32, 3, 7>, 32>(300);
  check_batch_norm<float, Shape<dyn, 32, 18, 20>, 32>(19);
}
TEST_CASE("batch norm of rows and of other types") {
  check_batch_norm<float, Shape<dyn, 40>, 40>(33);
  check_batch_norm<float, Shape<dyn, 3>, 3>(700);
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
