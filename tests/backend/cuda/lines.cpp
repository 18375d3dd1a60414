// Kernels of the target Cuda on lines along an axis and on resampled axes, in sizes that take several blocks and
// merges: the bits of the CPU.
#define TENON_TARGET cuda
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <tenon/more.hpp>

#include "beside_cpu.hpp"

using namespace tenon;
using namespace support;

TEST_CASE("sorting lines of one tile, of several, and many short ones") {
  check_bits([](const auto& v) { return argsort(v); }, random_tensor<float, Shape<3, 2600>>(1));
  check_bits([](const auto& v) { return argsort<0, true>(v); }, random_tensor<double, Shape<1025, 3>>(2));
  check_bits([](const auto& v) { return std::get<0>(topk<7>(v)); },
             random_tensor<std::int16_t, Shape<300, 20>>(3, -9, 9));
  check_bits([](const auto& v) { return argsort(v); }, random_tensor<std::uint64_t, Shape<513>>(4, 0, 50));
}

TEST_CASE("running sums and products of many and of long lines") {
  check_bits([](const auto& v) { return cumsum<1>(v); }, random_tensor<float, Shape<300, 70>>(1));
  check_bits([](const auto& v) { return cumsum<0, true, true>(v); }, random_tensor<float, Shape<70000>>(2));
  check_bits([](const auto& v) { return cumprod<0>(v); }, random_tensor<bfloat16, Shape<40, 200>>(3));
}

TEST_CASE("elements and rows by number, in several blocks") {
  check_bits([](const auto& x, const auto& i) { return gather_elements<0>(x, i); },
             random_tensor<float, Shape<50, 90>>(1), random_tensor<std::int64_t, Shape<77, 90>>(2, -50, 50));
  check_bits([](const auto& x, const auto& i,
                const auto& v) { return tensor_scatter_elements<0, ops::ScatterReduction::add>(x, i, v); },
             random_tensor<float, Shape<50, 90>>(1), random_tensor<std::int32_t, Shape<400, 90>>(2, -50, 50),
             random_tensor<float, Shape<400, 90>>(3));
  check_bits([](const auto& x, const auto& i, const auto& v) { return tensor_scatter_update(x, i, v); },
             random_tensor<float, Shape<60, 33>>(1), random_tensor<std::int32_t, Shape<2500, 1>>(2, 0, 60),
             random_tensor<float, Shape<2500, 33>>(3));
  check_bits([](const auto& i, const auto& v) { return scatter_nd<Shape<9, 11, 5>>(i, v); },
             random_tensor<std::int32_t, Shape<3000, 2>>(2, 0, 9), random_tensor<float, Shape<3000, 5>>(3));
}

TEST_CASE("resampled axes of larger images") {
  const auto x = random_tensor<float, Shape<2, 3, 40, 50>>(1);
  check_bits([](const auto& v) { return interpolate<Pair{61, 33}, ops::Interpolation::cubic>(v); }, x);
  check_bits([](const auto& v) { return interpolate<Pair{13, 90}, ops::Interpolation::area>(v); }, x);
  check_bits([](const auto& v) { return unfold<Pair{3}, UnfoldConfig{.stride = 2, .padding = 1}>(v); }, x);
  check_bits([](const auto& v) { return fold<Pair{28}, Pair{3, 2}, UnfoldConfig{.stride = 2, .padding = 1}>(v); },
             random_tensor<float, Shape<2, 12, 210>>(1));
  check_bits([](const auto& v) { return roll<7, 0>(roll<-60, 3>(v)); }, x);
}

TEST_CASE("planes of volumes, side by side: strides, dilation, groups") {
  check_bits(
      [](const auto& v, const auto& w) {
        return conv3d<Conv3dOptions{.stride = Triple(2, 1, 2),
                                    .pad_mode = PadMode::pad,
                                    .padding = Padding3d(2, 1, 1, 0, 0, 1),
                                    .dilation = Triple(2, 1, 1),
                                    .groups = 2}>(v, w);
      },
      random_tensor<float, Shape<dyn, 4, 7, 5, 6>>(1, -1, 1, 3), random_tensor<float, Shape<6, 2, 3, 2, 3>>(2));
}
