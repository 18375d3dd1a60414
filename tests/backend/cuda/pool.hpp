// What tests of pooling share.
#pragma once
#include <doctest/doctest.h>

#include <tenon/ops/ops.hpp>

#include "../../support/both_modes.hpp"

namespace pool_test {

using namespace tenon;
using namespace support;

/// Both kinds of pooling, and their gradients.
template <Pool2dOptions options, class T, int c, int h, int w>
void check(long n) {
  const auto x = random_tensor<T, Shape<dyn, c, h, w>>(1, -2, 2, n);
  both_modes([](const auto& v) { return max_pool2d<options>(v); }, x);
  if constexpr (is_floating(dtype_of<T>)) both_modes([](const auto& v) { return avg_pool2d<options>(v); }, x);
}
inline constexpr Pool2dOptions two{.kernel = 2};

}  // namespace pool_test
