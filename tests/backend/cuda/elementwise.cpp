// Element-wise kernels of the target Cuda, on the emulator or, compiled by nvcc, on a GPU: the bits of the CPU.
#define TENON_TARGET cuda
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <tenon/ops/ops.hpp>

#include "../../support/both_modes.hpp"

using namespace tenon;
using namespace support;

TEST_CASE("chains of steps, operands that broadcast, and rests of 16 bytes") {
  const auto chain = [](const auto& x, const auto& y) { return (x * y + 5) * x; };
  const auto x = random_tensor<int, Shape<dyn, 33>>(1, -100, 100, 5);
  both_modes(chain, x, random_tensor<int, Shape<33>>(2, -100, 100));
  both_modes(chain, x, random_tensor<int, Shape<dyn, 33>>(2, -100, 100, 5));
  const auto compared = [](const auto& a, const auto& b) { return sqrt(a * b + 0.5f) * a < b; };
  both_modes(compared, random_tensor<float, Shape<dyn, 33>>(1, -1, 1, 5),
             random_tensor<float, Shape<dyn, 33>>(2, -1, 1, 5));
}

TEST_CASE("operands whose neighbours are one number, or neighbours, in groups of 16 bytes or not") {
  const auto chain = [](const auto& x, const auto& y) { return (x - y) * x; };
  const auto check = [&]<class T>(T) {
    const auto even = random_tensor<T, Shape<dyn, 3, 4, 16>>(1, -1, 1, 5);
    both_modes(chain, even, random_tensor<T, Shape<3, 1, 1>>(2, -1, 1));
    both_modes(chain, even, random_tensor<T, Shape<4, 16>>(3, -1, 1));
    both_modes(chain, even, random_tensor<T, Shape<dyn, 1, 1, 1>>(4, -1, 1, 5));
    both_modes(chain, even, random_tensor<T, Shape<dyn, 1, 4, 1>>(5, -1, 1, 5));
    const auto odd = random_tensor<T, Shape<dyn, 3, 5, 3>>(1, -1, 1, 5);
    both_modes(chain, odd, random_tensor<T, Shape<3, 1, 1>>(2, -1, 1));
    both_modes(chain, odd, random_tensor<T, Shape<dyn, 1, 5, 3>>(3, -1, 1, 5));
  };
  check(1.0f), check(float16(1.0f));
}
