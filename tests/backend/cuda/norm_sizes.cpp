// label: long
// Normalization on the target Cuda: the bits of the CPU, for sizes beyond those of norm.cpp.
#define TENON_TARGET cuda
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include "norm.hpp"

using namespace norm_test;

TEST_CASE("layer norm") {
  check_layer_norm<float, Shape<dyn, 3, 40>, Shape<3, 40>>(5);
  check_layer_norm<float, Shape<dyn, 33>, Shape<33>>(600);
  check_layer_norm<float, Shape<dyn, 2>, Shape<2>>(8200);
}
TEST_CASE("batch norm") {
  check_batch_norm<float, Shape<dyn, 2, 2, 2>, 2>(16 * 18);
  check_batch_norm<float, Shape<dyn, 32, 3, 7>, 32>(300);
  check_batch_norm<float, Shape<dyn, 32, 18, 20>, 32>(19);
  check_batch_norm<float, Shape<dyn, 3>, 3>(700);
}
