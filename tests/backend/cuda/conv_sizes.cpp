// label: long
// Convolutions on the target Cuda, with their gradients: the bits of the CPU, for sizes beyond those of conv.cpp.
#define TENON_TARGET cuda
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include "conv.hpp"

using namespace conv_test;

TEST_CASE("as products: strides, rows and planes that are cut") {
  check<Conv2dOptions{.stride = 2}, float, 17, 9, 8, 18, 3>(2);
  check<Conv2dOptions{.stride = 2, .pad_mode = PadMode::valid}, float, 70, 5, 5, 70, 1>(2);
  check<Conv2dOptions{}, float, 3, 30, 31, 40, 3>(5);
  check<valid, float, 6, 14, 14, 16, 5>(3);
}

TEST_CASE("depthwise with two results of each channel, and one tap with strides") {
  check<Conv2dOptions{.groups = 3}, float, 3, 6, 7, 6, 3>(2);
  check<Conv2dOptions{.stride = 2, .pad_mode = PadMode::valid}, float, 7, 5, 5, 270, 1>(2);
}
