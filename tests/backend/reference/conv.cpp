// Convolution and pooling on the target Reference: all dtypes, what is not finite, and layers as a network has them.
// label: long
#define TENON_TARGET reference
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <cmath>

#include <tenon/ops/add.hpp>
#include <tenon/ops/conv2d.hpp>
#include <tenon/ops/matmul.hpp>
#include <tenon/ops/mul.hpp>
#include <tenon/ops/pool2d.hpp>
#include <tenon/ops/relu.hpp>
#include <tenon/ops/reshape.hpp>
#include <tenon/ops/structural.hpp>

#include "../../support/both_modes.hpp"

using namespace tenon;
using support::both_modes, support::random_tensor, support::SameNumbers, support::tensor_of;

TEST_CASE_TEMPLATE("convolutions of odd extents, strides, dilations, and groups", T, float16, bfloat16, float) {
  for (const long n : {1, 3, 17}) {
    both_modes([](const auto& x, const auto& w) { return conv2d<Conv2dOptions{}>(x, w); },
               random_tensor<T, Shape<dyn, 3, 7, 5>>(1, -2, 2, n), random_tensor<T, Shape<5, 3, 3, 3>>(2));
    both_modes(
        [](const auto& x, const auto& w) {
          return conv2d<Conv2dOptions{
              .stride = {2, 3}, .pad_mode = PadMode::pad, .padding = {2, 0, 1, 3}, .dilation = {1, 2}, .groups = 2}>(x,
                                                                                                                     w);
        },
        random_tensor<T, Shape<dyn, 4, 8, 9>>(3, -2, 2, n), random_tensor<T, Shape<6, 2, 3, 2>>(4));
    both_modes([](const auto& x, const auto& w) { return conv2d<Conv2dOptions{.groups = 5}>(x, w); },
               random_tensor<T, Shape<dyn, 5, 6, 6>>(5, -2, 2, n), random_tensor<T, Shape<5, 1, 3, 3>>(6));
    both_modes([](const auto& x, const auto& w) { return conv2d<Conv2dOptions{.pad_mode = PadMode::valid}>(x, w); },
               random_tensor<T, Shape<dyn, 19, 3, 1>>(7, -2, 2, n), random_tensor<T, Shape<4, 19, 1, 1>>(8));
  }
}

TEST_CASE_TEMPLATE("windows side by side, overlapping, and cut", T, float16, bfloat16, float) {
  for (const long n : {1, 3, 17}) {
    const auto x = random_tensor<T, Shape<dyn, 3, 7, 6>>(1, -2, 2, n);
    both_modes([](const auto& v) { return max_pool2d<2>(v); }, x);
    both_modes([](const auto& v) { return avg_pool2d<2>(v); }, x);
    both_modes([](const auto& v) { return max_pool2d<3, 2>(v); }, x);
    both_modes([](const auto& v) { return avg_pool2d<3, 1>(v); }, x);
    both_modes(
        [](const auto& v) {
          return max_pool2d<Pool2dOptions{.kernel = {3, 2}, .stride = 2, .pad_mode = PadMode::same}>(v) +
                 avg_pool2d<Pool2dOptions{.kernel = {3, 2}, .stride = 2, .pad_mode = PadMode::same}>(v);
        },
        x);
    both_modes(
        [](const auto& v) {
          return avg_pool2d<Pool2dOptions{.kernel = 3, .stride = 2, .pad_mode = PadMode::pad, .padding = 1}>(v) *
                 avg_pool2d<Pool2dOptions{
                     .kernel = 3, .stride = 2, .pad_mode = PadMode::pad, .padding = 1, .count_include_pad = false}>(v);
        },
        x);
  }
}

TEST_CASE_TEMPLATE("the maximum of integers", T, std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t,
                   std::uint64_t) {
  both_modes([](const auto& v) { return max_pool2d<3, 2>(v); }, random_tensor<T, Shape<dyn, 2, 7, 9>>(1, 0, 100, 3));
}

TEST_CASE("of equal elements the first one, of several NaN the last one") {
  const float nan = std::nanf("");
  const auto f = [](const auto& v) { return max_pool2d<Pool2dOptions{.kernel = 3, .stride = 1}>(v); };
  both_modes<SameNumbers>(
      f, tensor_of<float, Shape<1, 1, 3, 5>>({1, 1, nan, -5, nan, 1, 0.0f, -0.0f, nan, 1, 2, 2, 1, 1, INFINITY}));
  both_modes<SameNumbers>(f, Tensor<float, Shape<1, 1, 4, 4>>::full(-0.0f));
}

TEST_CASE("padding counts as 0, also beside what is not finite") {
  auto w = random_tensor<float, Shape<2, 1, 3, 3>>(2);
  w.data()[0] = INFINITY;
  for (const long n : {1, 16}) {
    const ContextScope scope({.device_target = "Reference"});
    const auto x = random_tensor<float, Shape<dyn, 1, 4, 4>>(1, 1, 2, n);
    const auto y = conv2d<Conv2dOptions{}>(x, w);
    CHECK(std::isnan(y(0, 0, 0, 0)));
    CHECK(y(0, 0, 1, 1) == INFINITY);
    CHECK(std::isfinite(y(0, 1, 0, 0)));
  }
}

TEST_CASE("layers of a network") {
  const auto lenet = [](const auto& x, const auto& w, const auto& dense) {
    const auto y = max_pool2d<2>(relu(conv2d<Conv2dOptions{}>(x, w)));
    return matmul(flatten(avg_pool2d<2>(relu(conv2d<Conv2dOptions{.groups = 2}>(y, w)))), dense);
  };
  for (const long n : {1, 5, 16})
    both_modes(lenet, random_tensor<float, Shape<dyn, 3, 12, 12>>(1, -1, 1, n),
               random_tensor<float, Shape<6, 3, 3, 3>>(2, -1, 1), random_tensor<float, Shape<54, 4>>(3, -1, 1));
}
