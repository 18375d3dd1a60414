// Products on the target Cuda: the bits of the CPU, for each way and each dtype.
#define TENON_TARGET cuda
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <tenon/ops/ops.hpp>

#include "../../support/same_there.hpp"

using namespace tenon;
using namespace support;

namespace {
/// The product of [m, k] and [k, n], each operand also stored transposed.
template <class T, int m, int n, int k>
void all_forms() {
  const auto a = random_tensor<T, Shape<m, k>>(1);
  const auto b = random_tensor<T, Shape<k, n>>(2);
  const auto turned_a = random_tensor<T, Shape<k, m>>(3);
  const auto turned_b = random_tensor<T, Shape<n, k>>(4);
  same_there([](const auto& x, const auto& y) { return matmul(x, y); }, a, b);
  same_there([](const auto& x, const auto& y) { return matmul<Transposed::first>(x, y); }, turned_a, b);
  same_there([](const auto& x, const auto& y) { return matmul<Transposed::second>(x, y); }, a, turned_b);
  same_there([](const auto& x, const auto& y) { return matmul<Transposed::both>(x, y); }, turned_a, turned_b);
}
}  // namespace

TEST_CASE("all forms, tiles that are cut, several segments") {
  all_forms<float, 5, 7, 3>();
  all_forms<float, 1, 70, 300>();
  all_forms<float, 70, 1, 513>();
  all_forms<float, 33, 65, 600>();
  all_forms<float, 130, 200, 520>();
}

TEST_CASE("every dtype") {
  all_forms<double, 9, 11, 300>();
  all_forms<float16, 9, 11, 300>();
  all_forms<bfloat16, 9, 11, 1031>();
  all_forms<std::int32_t, 9, 11, 300>();
  all_forms<std::int8_t, 9, 11, 300>();
  all_forms<std::uint64_t, 3, 5, 20>();
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
