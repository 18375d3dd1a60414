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
  check_sums<float, Shape<dyn, 100>, Shape<100>>(320);
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
TEST_CASE("images per channel: small planes, several blocks of samples") {
  check_sums<float, Shape<dyn, 6, 8, 8>, Shape<6, 1, 1>>(3);
  check_sums<float, Shape<dyn, 3, 16, 16>, Shape<3, 1, 1>>(35);
  check_sums<float, Shape<dyn, 2, 4, 4>, Shape<2, 1, 1>>(16 * 20 + 5);
}
