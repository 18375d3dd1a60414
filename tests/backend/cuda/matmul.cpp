// Products on the target Cuda: the bits of the CPU, for each way and each dtype. (matmul_dtypes.cpp: each way with each
// dtype.)
#define TENON_TARGET cuda
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include "matmul.hpp"

using namespace matmul_test;

TEST_CASE("all forms, tiles that are cut, several segments") {
  all_forms<float, 5, 7, 3>();
  all_forms<float, 1, 70, 300>();
  all_forms<float, 70, 1, 513>();
  all_forms<float, 33, 65, 600>();
  all_forms<float, 130, 200, 520>();
}

TEST_CASE("every dtype") {
  const auto product = [](const auto& x, const auto& y) { return matmul(x, y); };
  const auto turned = [](const auto& x, const auto& y) { return matmul<Transposed::second>(x, y); };
  same_there(product, random_tensor<double, Shape<9, 300>>(1), random_tensor<double, Shape<300, 11>>(2));
  same_there(turned, random_tensor<float16, Shape<9, 300>>(1), random_tensor<float16, Shape<11, 300>>(2));
  same_there(product, random_tensor<bfloat16, Shape<9, 1031>>(1), random_tensor<bfloat16, Shape<1031, 11>>(2));
  same_there(turned, random_tensor<std::int32_t, Shape<9, 300>>(1), random_tensor<std::int32_t, Shape<11, 300>>(2));
  same_there(product, random_tensor<std::int8_t, Shape<9, 300>>(1), random_tensor<std::int8_t, Shape<300, 11>>(2));
  same_there(product, random_tensor<std::uint64_t, Shape<3, 20>>(1), random_tensor<std::uint64_t, Shape<20, 5>>(2));
}

TEST_CASE("tiles of all sizes, whole and cut") {
  const auto turned = [](const auto& x, const auto& y) { return matmul<Transposed::second>(x, y); };
  same_there(turned, random_tensor<float, Shape<1400, 259>>(1), random_tensor<float, Shape<1500, 259>>(2));
  same_there(turned, random_tensor<float, Shape<1300, 259>>(1), random_tensor<float, Shape<700, 259>>(2));
  same_there([](const auto& x, const auto& y) { return matmul(x, y); }, random_tensor<float, Shape<700, 300>>(1),
             random_tensor<float, Shape<300, 720>>(2));
  const auto product = [](const auto& x, const auto& y) { return matmul<Transposed::first>(x, y); };
  same_there(product, random_tensor<float, Shape<600, 1300>>(1), random_tensor<float, Shape<600, 701>>(2));
  same_there(product, random_tensor<float, Shape<530, 130>>(1), random_tensor<float, Shape<530, 130>>(2));
  same_there(product, random_tensor<float, Shape<dyn, 300>>(1, -2, 2, 530),
             random_tensor<float, Shape<dyn, 310>>(2, -2, 2, 530));
  same_there(turned, random_tensor<float, Shape<dyn, 300>>(1, -2, 2, 1000), random_tensor<float, Shape<600, 300>>(2));
}

TEST_CASE("small results of many steps, segment by segment, whole and cut") {
  CHECK(kernel::cuda::pays_by_segments(~0u, {128, 128, 1}, 4100));
  CHECK(kernel::cuda::pays_by_segments(~0u, {70, 150, 2}, 3001));
  CHECK_FALSE(kernel::cuda::pays_by_segments(~0u, {1024, 1024, 1}, 1024));
  const auto product = [](const auto& x, const auto& y) { return matmul<Transposed::first>(x, y); };
  same_there(product, random_tensor<float, Shape<4100, 128>>(1), random_tensor<float, Shape<4100, 128>>(2));
  same_there(product, random_tensor<float, Shape<2, 3001, 70>>(1), random_tensor<float, Shape<3001, 150>>(2));
  same_there([](const auto& x, const auto& y) { return matmul<Transposed::second>(x, y); },
             random_tensor<float, Shape<2, 70, 3001>>(1), random_tensor<float, Shape<2, 150, 3001>>(2));
}

TEST_CASE("stacks, which broadcast, and batches") {
  const auto product = [](const auto& x, const auto& y) { return matmul(x, y); };
  same_there(product, random_tensor<float, Shape<2, 1, 5, 7>>(1), random_tensor<float, Shape<3, 7, 9>>(2));
  same_there(product, random_tensor<float, Shape<3, 1, 7>>(1), random_tensor<float, Shape<2, 1, 7, 9>>(2));
  same_there(product, random_tensor<float, Shape<dyn, 5, 7>>(1, -2, 2, 6), random_tensor<float, Shape<7, 9>>(2));
  same_there(product, random_tensor<float, Shape<dyn, 2, 5, 7>>(1, -2, 2, 3),
             random_tensor<float, Shape<dyn, 2, 7, 9>>(2, -2, 2, 3));
  same_there(product, random_tensor<float, Shape<dyn, 40>>(1, -2, 2, 37), random_tensor<float, Shape<40, 50>>(2));
  same_there([](const auto& x, const auto& y) { return matmul<Transposed::first>(x, y); },
             random_tensor<float, Shape<dyn, 40>>(1, -2, 2, 300), random_tensor<float, Shape<dyn, 9>>(2, -2, 2, 300));
}

TEST_CASE("a bias and an activation are applied to each element before it is stored") {
  const auto layer = [](const auto& x, const auto& w, const auto& b) { return relu(matmul(x, w) + b) * 3; };
  both_modes(layer, random_tensor<int, Shape<dyn, 70>>(1, -9, 9, 5), random_tensor<int, Shape<70, 33>>(2, -9, 9),
             random_tensor<int, Shape<33>>(3, -99, 99));
}

namespace {
struct Shortcut {  // nvcc takes no lambda here
  constexpr auto operator()(const auto& a, const auto& b, const auto& c) const { return relu(matmul(a, b) - c); }
};
}  // namespace

TEST_CASE("so is a second operand of the size of the result") {
  both_modes(Shortcut(), random_tensor<int, Shape<dyn, 70>>(1, -9, 9, 5), random_tensor<int, Shape<70, 34>>(2, -9, 9),
             random_tensor<int, Shape<dyn, 34>>(3, -99, 99, 5));
}
