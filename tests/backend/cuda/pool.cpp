// Pooling on the target Cuda, with its gradients: the bits of the CPU. (pool_sizes.cpp: more sizes and dtypes.)
#define TENON_TARGET cuda
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include "pool.hpp"

using namespace pool_test;

TEST_CASE("windows side by side, whole and cut") {
  check<two, float, 3, 28, 28>(3);
  check<two, float, 2, 7, 9>(2);
  check<Pool2dOptions{.kernel = 2, .pad_mode = PadMode::same}, float, 2, 7, 9>(2);
}

TEST_CASE("windows that overlap") {
  check<Pool2dOptions{.kernel = 3, .stride = 2, .pad_mode = PadMode::same}, float, 2, 8, 9>(2);
  check<Pool2dOptions{.kernel = 3, .stride = 2, .pad_mode = PadMode::pad, .padding = 1, .count_include_pad = false},
        float, 2, 6, 5>(2);
}

TEST_CASE("averages of large windows") {
  check<Pool2dOptions{.kernel = 12, .stride = 5}, float, 2, 33, 26>(2);
  check<Pool2dOptions{.kernel = {30, 33}}, float, 3, 30, 33>(3);
  check<Pool2dOptions{.kernel = 12}, bfloat16, 1, 12, 13>(2);
}

TEST_CASE("dtypes of 16 and 8 bits") {
  check<two, float16, 2, 8, 8>(2);
  check<Pool2dOptions{.kernel = 3, .stride = 2, .pad_mode = PadMode::same}, bfloat16, 2, 8, 9>(2);
  check<Pool2dOptions{.kernel = 3, .stride = 2}, std::uint8_t, 2, 7, 9>(2);
}

TEST_CASE("places beyond a byte, NaN, and equal elements") {
  check<Pool2dOptions{.kernel = 17, .stride = 4}, float, 1, 25, 21>(2);
  const auto special =
      tensor_of<float, Shape<dyn, 1, 4, 4>>({1, 1, NAN, 2, 1, 1, 3, NAN, -0.0f, 0, 5, 5, 0, -0.0f, 5, 5});
  both_modes<SameNumbers>([](const auto& v) { return max_pool2d<2>(v); }, special);
  both_modes<SameNumbers>([](const auto& v) { return max_pool2d<3, 1>(v); }, special);
}
