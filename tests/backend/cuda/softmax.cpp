// Softmax and cross entropy on the target Cuda: the bits of the CPU for rows of one half warp, of several, and of
// several rounds, and along other axes.
#define TENON_TARGET cuda
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <tenon/ops/ops.hpp>

#include "../../support/both_modes.hpp"

using namespace tenon;
using namespace support;

namespace {
constexpr auto soft = [](const auto& x) { return softmax(x); };
constexpr auto soft_first = [](const auto& x) { return softmax<0>(x); };
constexpr auto soft_middle = [](const auto& x) { return softmax<1>(x); };
constexpr auto log_soft = [](const auto& x) { return log_softmax(x); };
constexpr auto loss = [](const auto& x, const auto& labels) { return softmax_cross_entropy(x, labels); };

template <int classes>
void check_losses(long n) {
  const auto x = random_tensor<float, Shape<dyn, classes>>(1, -8, 8, n);
  both_modes(loss, x, random_tensor<int, Shape<dyn>>(2, 0, classes, n));
  both_modes(loss, x, random_tensor<float, Shape<dyn, classes>>(2, 0, 1, n));
}
}  // namespace

TEST_CASE("softmax along the last axis") {
  both_modes(soft, random_tensor<float, Shape<dyn, 10>>(1, -8, 8, 37));
  both_modes(soft, random_tensor<float, Shape<dyn, 3, 100>>(1, -8, 8, 7));
  both_modes(soft, random_tensor<float, Shape<3, 1030>>(1, -8, 8));
  both_modes(soft, random_tensor<float, Shape<2, 5000>>(1, -8, 8));
  both_modes(soft, random_tensor<float, Shape<1, 40000>>(1, -8, 8));
  both_modes(log_soft, random_tensor<float, Shape<dyn, 33>>(1, -8, 8, 5));
  both_modes(log_soft, random_tensor<float, Shape<1, 17000>>(1, -8, 8));
  both_modes(soft, random_tensor<float, Shape<dyn>>(1, -8, 8, 3000));
}
TEST_CASE("softmax of 16-bit floats") {
  both_modes(soft, random_tensor<float16, Shape<dyn, 50>>(1, -8, 8, 5));
  both_modes(log_soft, random_tensor<bfloat16, Shape<dyn, 50>>(1, -8, 8, 5));
  both_modes(soft_middle, random_tensor<bfloat16, Shape<dyn, 40, 3>>(1, -8, 8, 2));
}
TEST_CASE("softmax along other axes") {
  both_modes(soft_first, random_tensor<float, Shape<dyn, 7>>(1, -8, 8, 70));
  both_modes(soft_middle, random_tensor<float, Shape<dyn, 64, 5>>(1, -8, 8, 3));
  both_modes([](const auto& x) { return log_softmax<1>(x); }, random_tensor<float, Shape<dyn, 5, 70>>(1, -8, 8, 3));
}
TEST_CASE("cross entropy with class numbers and with distributions") {
  check_losses<10>(32);
  check_losses<1000>(3);
  check_losses<3000>(2);
  check_losses<20000>(1);
}
