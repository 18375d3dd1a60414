// Convolutions on the target Cuda, with their gradients: the bits of the CPU. (conv_sizes.cpp: more sizes.)
#define TENON_TARGET cuda
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include "conv.hpp"

using namespace conv_test;

TEST_CASE("one segment and several, whole and cut blocks of samples") {
  check<Conv2dOptions{}, float, 1, 9, 11, 6, 5>(3);
  check<valid, float, 6, 14, 14, 5, 5>(1);
  check<Conv2dOptions{}, float, 35, 5, 6, 33, 3>(2);
  check<valid, float, 3, 4, 4, 2, 3>(37);
}

TEST_CASE("strides, dilations, paddings") {
  check<Conv2dOptions{.stride = {2, 1}, .pad_mode = PadMode::same}, float, 2, 9, 8, 3, 3, 2>(2);
  check<Conv2dOptions{.pad_mode = PadMode::pad, .padding = {1, 0, 2, 3}, .dilation = {2, 3}}, float, 2, 9, 8, 3, 3>(2);
  check<Conv2dOptions{.stride = 3, .pad_mode = PadMode::valid}, float, 2, 11, 10, 3, 2>(2);
  check<Conv2dOptions{.stride = 2, .pad_mode = PadMode::pad, .padding = {1, 1, 1, 1}, .dilation = 2}, float, 2, 9, 9, 3,
        3>(2);
  check<Conv2dOptions{.stride = {1024, 1}, .pad_mode = PadMode::valid}, float, 2, 1024 * 39 + 10, 1, 16, 10, 1>(1);
}

TEST_CASE("a sample of several segments, of whole rows or parts of a row") {
  check<valid, float, 2, 30, 30, 3, 3>(18);
  check<Conv2dOptions{}, float, 1, 3, 600, 2, 3>(2);
  check<Conv2dOptions{.pad_mode = PadMode::valid}, float, 3, 17, 33, 5, 1>(3);
}

TEST_CASE("as products: strides, whose phases may have no taps, dilations, groups, blocks of samples") {
  check<Conv2dOptions{.stride = 2, .dilation = 2}, float, 16, 9, 9, 16, 3>(2);
  check<Conv2dOptions{.stride = {3, 2}, .pad_mode = PadMode::valid}, float, 32, 8, 8, 20, 2>(2);
  check<Conv2dOptions{.pad_mode = PadMode::pad, .padding = {2, 1, 0, 2}, .dilation = {1, 2}, .groups = 2}, float, 32, 7,
        8, 36, 3>(19);
  check<Conv2dOptions{}, float, 130, 3, 3, 130, 3>(37);
}

TEST_CASE("3 x 3 as products, where rows of a tile share a border of zeros, and where they may not") {
  check<Conv2dOptions{.pad_mode = PadMode::pad, .padding = {1, 1, 0, 2}}, float, 16, 4, 4, 16, 3>(9);
  check<Conv2dOptions{.pad_mode = PadMode::pad, .padding = {0, 2, 2, 0}}, float, 16, 5, 8, 16, 3>(3);
  check<Conv2dOptions{.pad_mode = PadMode::pad, .padding = {2, 2, 3, 3}}, float, 16, 3, 4, 16, 3>(2);
  check<Conv2dOptions{.pad_mode = PadMode::pad, .padding = {5, 5, 5, 5}}, float, 16, 4, 6, 16, 3>(2);
  check<valid, float, 16, 6, 6, 16, 3>(5);
  check<Conv2dOptions{.stride = 2}, float, 16, 4, 4, 16, 3>(5);
}

TEST_CASE("groups, depthwise, and one tap") {
  check<Conv2dOptions{.groups = 2}, float, 4, 6, 7, 6, 3>(2);
  check<Conv2dOptions{.groups = 5}, float, 5, 6, 7, 5, 3>(2);
  check<valid, float, 300, 3, 4, 7, 1>(2);
}

TEST_CASE("a batch without samples gives the weights no gradient") {
  check<Conv2dOptions{}, float, 16, 6, 6, 16, 3>(0);
  check<valid, float, 16, 8, 8, 16, 5>(0);
  check<Conv2dOptions{.groups = 4}, float, 4, 6, 6, 4, 3>(0);
}
TEST_CASE("every dtype") {
  check<Conv2dOptions{}, double, 3, 5, 6, 4, 3>(3);
  check<Conv2dOptions{}, float16, 3, 5, 6, 4, 3>(3);
  check<Conv2dOptions{}, bfloat16, 3, 5, 6, 4, 3>(3);
  check<Conv2dOptions{.stride = 2, .groups = 2}, bfloat16, 10, 5, 6, 6, 3>(2);
}

TEST_CASE("an activation and a bias are applied to each element before it is stored") {
  const auto x = random_tensor<float, Shape<dyn, 3, 6, 7>>(1, -2, 2, 3);
  const auto w = random_tensor<float, Shape<4, 3, 3, 3>>(2);
  both_modes([](const auto& v, const auto& k) { return relu(conv2d<Conv2dOptions{}>(v, k)) * 3.0f; }, x, w);
}
