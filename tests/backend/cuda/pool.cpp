// Pooling on the target Cuda, with its gradients: the bits of the CPU.
#define TENON_TARGET cuda
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <tenon/ops/ops.hpp>

#include "../../support/both_modes.hpp"

using namespace tenon;
using namespace support;

namespace {
/// Both kinds of pooling, and their gradients.
template <Pool2dOptions options, class T, int c, int h, int w>
void check(long n) {
  const auto x = random_tensor<T, Shape<dyn, c, h, w>>(1, -2, 2, n);
  both_modes([](const auto& v) { return max_pool2d<options>(v); }, x);
  if constexpr (is_floating(dtype_of<T>)) both_modes([](const auto& v) { return avg_pool2d<options>(v); }, x);
}
constexpr Pool2dOptions two{.kernel = 2};
}  // namespace

TEST_CASE("windows side by side, whole and cut") {
  check<two, float, 3, 28, 28>(3);
  check<two, float, 2, 7, 9>(2);
  check<Pool2dOptions{.kernel = 2, .pad_mode = PadMode::same}, float, 2, 7, 9>(2);
  check<Pool2dOptions{.kernel = {2, 3}, .stride = {3, 2}}, float, 2, 9, 11>(2);
}

TEST_CASE("windows that overlap") {
  check<Pool2dOptions{.kernel = 3, .stride = 2, .pad_mode = PadMode::same}, float, 2, 8, 9>(2);
  check<Pool2dOptions{.kernel = 3, .stride = 1, .pad_mode = PadMode::pad, .padding = 1}, float, 2, 6, 5>(2);
  check<Pool2dOptions{.kernel = 3, .stride = 2, .pad_mode = PadMode::pad, .padding = 1, .count_include_pad = false},
        float, 2, 6, 5>(2);
}

TEST_CASE("averages of large windows") {
  check<Pool2dOptions{.kernel = 12, .stride = 5}, float, 2, 33, 26>(2);
  check<Pool2dOptions{.kernel = {30, 33}}, float, 3, 30, 33>(3);
  check<Pool2dOptions{.kernel = {200, 1}}, float, 1, 205, 3>(2);
  check<Pool2dOptions{.kernel = 12, .stride = 11, .pad_mode = PadMode::same}, float, 1, 23, 23>(2);
  check<Pool2dOptions{.kernel = 12}, double, 1, 12, 13>(2);
  check<Pool2dOptions{.kernel = 12}, bfloat16, 1, 12, 13>(2);
}

TEST_CASE("every dtype") {
  check<two, double, 2, 8, 8>(2);
  check<two, float16, 2, 8, 8>(2);
  check<Pool2dOptions{.kernel = 3, .stride = 2, .pad_mode = PadMode::same}, bfloat16, 2, 8, 9>(2);
  check<two, std::int32_t, 2, 7, 8>(2);
  check<Pool2dOptions{.kernel = 3, .stride = 2}, std::uint8_t, 2, 7, 9>(2);
}

TEST_CASE("places beyond a byte, NaN, and equal elements") {
  check<Pool2dOptions{.kernel = 17, .stride = 4}, float, 1, 25, 21>(2);
  const auto special =
      tensor_of<float, Shape<dyn, 1, 4, 4>>({1, 1, NAN, 2, 1, 1, 3, NAN, -0.0f, 0, 5, 5, 0, -0.0f, 5, 5});
  both_modes<SameNumbers>([](const auto& v) { return max_pool2d<2>(v); }, special);
  both_modes<SameNumbers>([](const auto& v) { return max_pool2d<3, 1>(v); }, special);
}
