// What tests of convolutions share.
#pragma once
#include <doctest/doctest.h>

#include <tenon/ops/ops.hpp>

#include "../../support/both_modes.hpp"

namespace conv_test {

using namespace tenon;
using namespace support;

/// x [n, c, h, w] convolved with o kernels of kh x kw, and both gradients.
template <Conv2dOptions options, class T, int c, int h, int w, int o, int kh, int kw = kh>
void check(long n) {
  both_modes([](const auto& x, const auto& k) { return conv2d<options>(x, k); },
             random_tensor<T, Shape<dyn, c, h, w>>(1, -2, 2, n),
             random_tensor<T, Shape<o, c / options.groups, kh, kw>>(2));
}
inline constexpr Conv2dOptions valid{.pad_mode = PadMode::valid};

}  // namespace conv_test
