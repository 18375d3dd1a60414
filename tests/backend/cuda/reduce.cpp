// Sums over axes, of values that were broadcast, on the target Cuda: the bits of the CPU, whichever way the size
// asks for.
#define TENON_TARGET cuda
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <tenon/ops/ops.hpp>

#include "../../support/both_modes.hpp"

using namespace tenon;
using namespace support;

namespace {
/// Compares the sums that are the gradient of an operand of the shape Small.
template <class T, class Large, class Small>
void check_sums(long n = 1) {
  const auto x = random_tensor<T, Large>(1, -1, 1, n);
  const auto y = random_tensor<T, Small>(2, -1, 1, n);
  both_modes([](const auto& a, const auto& b) { return a + b; }, x, y);
}
}  // namespace

TEST_CASE("rows: one chain, several, a rest of each length, tiles") {
  check_sums<float, Shape<dyn, 7>, Shape<dyn, 1>>(5);
  check_sums<float, Shape<dyn, 129>, Shape<dyn, 1>>(3);
  check_sums<float, Shape<dyn, 1024>, Shape<dyn, 1>>(3);
  check_sums<float, Shape<3, 40000>, Shape<3, 1>>();
  check_sums<float, Shape<65536>, Shape<1>>();
  check_sums<double, Shape<dyn, 2500>, Shape<1>>(9);
}
TEST_CASE("columns: one chain, several, tiles") {
  check_sums<float, Shape<dyn, 10>, Shape<10>>(32);
  check_sums<float, Shape<dyn, 10>, Shape<10>>(33);
  check_sums<float, Shape<dyn, 3>, Shape<3>>(20000);
  check_sums<float, Shape<dyn, 13>, Shape<13>>(8190);
  check_sums<float, Shape<dyn, 9>, Shape<9>>(8192);
  check_sums<float, Shape<dyn, 100>, Shape<100>>(320);
  check_sums<float, Shape<dyn, 37>, Shape<37>>(8193);
  check_sums<float, Shape<dyn, 4100>, Shape<4100>>(40);
  check_sums<float, Shape<dyn, 4100>, Shape<4100>>(256);
  check_sums<float, Shape<dyn, 4100>, Shape<4100>>(0);
  check_sums<float, Shape<64, 20>, Shape<20>>();
  check_sums<float, Shape<dyn, 50, 6>, Shape<dyn, 1, 6>>(4);
}
TEST_CASE("several groups of axes") {
  check_sums<float, Shape<dyn, 3, 50>, Shape<3, 1>>(40);
  check_sums<float, Shape<5, 3, 7, 20>, Shape<3, 1, 20>>();
  check_sums<float, Shape<5, 3, 7, 20, 2>, Shape<5, 1, 7, 1, 2>>();
  check_sums<float, Shape<dyn, 3, 1>, Shape<3, 1>>(70);
}
TEST_CASE("other types") {
  check_sums<float16, Shape<dyn, 300>, Shape<dyn, 1>>(3);
  check_sums<bfloat16, Shape<dyn, 20>, Shape<20>>(100);
  check_sums<double, Shape<dyn, 20>, Shape<20>>(100);
}
TEST_CASE("images per channel: planes of one segment and of several, several blocks of samples") {
  check_sums<float, Shape<dyn, 3, 40, 33>, Shape<3, 1, 1>>(5);
  check_sums<float, Shape<dyn, 2, 2, 600>, Shape<2, 1, 1>>(18);
  check_sums<float, Shape<dyn, 6, 8, 8>, Shape<6, 1, 1>>(3);
  check_sums<float, Shape<dyn, 3, 16, 16>, Shape<3, 1, 1>>(35);
  check_sums<float, Shape<dyn, 2, 4, 4>, Shape<2, 1, 1>>(16 * 20 + 5);
}

TEST_CASE("sums, means, extremes, and products") {
  const auto x = random_tensor<float, Shape<dyn, 3, 150>>(1, -1, 1, 40);
  both_modes([](const auto& v) { return reduce_sum<2>(v); }, x);
  both_modes([](const auto& v) { return reduce_mean<0, 2>(v); }, x);
  both_modes([](const auto& v) { return reduce_mean(v); }, x);
  both_modes([](const auto& v) { return reduce_max<1>(v); }, x);
  both_modes([](const auto& v) { return reduce_min(v); }, x);
  both_modes([](const auto& v) { return reduce_prod<0>(v); }, x);
  both_modes([](const auto& v) { return reduce_prod<2>(v); }, random_tensor<float, Shape<dyn, 2, 50>>(1, 0.5, 1.5, 3));
  both_modes([](const auto& v) { return reduce_sum<1>(v); }, random_tensor<int, Shape<dyn, 5000>>(1, -9, 9, 3));
  both_modes([](const auto& v) { return reduce_max<0>(v); }, random_tensor<std::uint8_t, Shape<dyn, 7>>(1, 0, 255, 99));
  both_modes([](const auto& v) { return reduce_mean<1>(v); }, random_tensor<float16, Shape<dyn, 200>>(1, -1, 1, 3));
}
TEST_CASE("where the largest and smallest elements are") {
  const auto x = random_tensor<int, Shape<dyn, 70, 3>>(1, 0, 30, 40);
  both_modes([](const auto& v) { return argmax<1>(v); }, x);
  both_modes([](const auto& v) { return argmin<2>(v); }, x);
  auto y = random_tensor<float, Shape<dyn, 10>>(1, -1, 1, 40);
  y.data()[34] = y.data()[37] = NAN, y.data()[50] = y.data()[55] = 2;
  both_modes([](const auto& v) { return argmax<1>(v); }, y);
  both_modes([](const auto& v) { return argmin<0>(v); }, y);
  both_modes([](const auto& v) { return argmax<0>(v); }, Tensor<float, Shape<dyn, 10>>::zeros(0));
  both_modes([](const auto& v) { return argmax<0>(v); }, Tensor<int, Shape<dyn>>::zeros(0));
}
