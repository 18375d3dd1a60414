// label: long
// Pooling on the target Cuda, with its gradients: the bits of the CPU, for sizes and dtypes beyond those of pool.cpp.
#define TENON_TARGET cuda
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include "pool.hpp"

using namespace pool_test;

TEST_CASE("windows side by side and windows that overlap") {
  check<Pool2dOptions{.kernel = {2, 3}, .stride = {3, 2}}, float, 2, 9, 11>(2);
  check<Pool2dOptions{.kernel = 3, .stride = 1, .pad_mode = PadMode::pad, .padding = 1}, float, 2, 6, 5>(2);
}

TEST_CASE("averages of large windows") {
  check<Pool2dOptions{.kernel = {200, 1}}, float, 1, 205, 3>(2);
  check<Pool2dOptions{.kernel = 12, .stride = 11, .pad_mode = PadMode::same}, float, 1, 23, 23>(2);
  check<Pool2dOptions{.kernel = 12}, double, 1, 12, 13>(2);
}

TEST_CASE("dtypes of 32 and 64 bits") {
  check<two, double, 2, 8, 8>(2);
  check<two, std::int32_t, 2, 7, 8>(2);
}
