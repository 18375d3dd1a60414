// Winograd's convolutions on the target Cuda, with their gradients: the bits of the CPU.
#define TENON_TARGET cuda
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <tenon/ops/ops.hpp>

#include "../../support/both_modes.hpp"

using namespace tenon;
using namespace support;

namespace {
template <PadMode mode>
constexpr Conv2dOptions by_winograd{.pad_mode = mode, .padding = {2, 0, 1, 2}, .algorithm = ConvAlgorithm::winograd};
template <PadMode mode, int c, int h, int w, int o>
void check(long n) {
  both_modes([](const auto& x, const auto& k) { return conv2d<by_winograd<mode>>(x, k); },
             random_tensor<float, Shape<dyn, c, h, w>>(1, -2, 2, n), random_tensor<float, Shape<o, c, 3, 3>>(2));
}
}  // namespace

TEST_CASE("every pad mode, tiles that are cut") {
  check<PadMode::same, 3, 8, 8, 4>(2);
  check<PadMode::valid, 2, 9, 11, 3>(1);
  check<PadMode::pad, 2, 7, 6, 5>(3);
}

TEST_CASE("blocks of samples and chains of tiles, whole and cut") {
  check<PadMode::same, 2, 10, 9, 3>(16);
  check<PadMode::same, 2, 10, 9, 3>(37);
  check<PadMode::same, 2, 20, 21, 3>(5);
}

TEST_CASE("more channels than a tile") { check<PadMode::same, 70, 5, 4, 66>(2); }

TEST_CASE("an activation is applied to each element before it is stored") {
  both_modes([](const auto& x, const auto& k) { return relu(conv2d<by_winograd<PadMode::same>>(x, k)) * 2.0f; },
             random_tensor<float, Shape<dyn, 3, 6, 7>>(1), random_tensor<float, Shape<4, 3, 3, 3>>(2));
}
