// Pooling of volumes, indices of maxima, and unpooling: values of PyTorch, gradients.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <cmath>

#include <tenon/more.hpp>

#include "../support/both_modes.hpp"
#include "../support/gradient_check.hpp"

using namespace tenon;
using namespace support;

namespace {
template <class S>
auto counted() {
  auto x = Tensor<float, S>::full(0.0f);
  for (long i = 0; i < x.count(); ++i) x.data()[i] = float((i * 7 + 3) % 11) - float(i % 4);
  return x;
}
template <class X>
void check_values(const X& x, std::initializer_list<double> expected) {
  REQUIRE(long(expected.size()) == x.count());
  long i = 0;
  for (const double e : expected) CHECK(double(x.data()[i++]) == doctest::Approx(e));
}
}  // namespace

TEST_CASE("max_pool3d and avg_pool3d: values of PyTorch") {
  const auto x = counted<Shape<1, 2, 3, 4, 5>>();
  static constexpr Pool3dOptions window{.kernel = {2, 3, 2}, .stride = {1, 1, 2}};
  check_values(both_modes([](const auto& v) { return max_pool3d<window>(v); }, x).result,
               {9, 10, 7, 10, 9, 9, 10, 9, 8, 9, 7, 9, 10, 9, 7, 9});
  check_values(both_modes([](const auto& v) { return avg_pool3d<window>(v); }, x).result,
               {2.75, 3.91666667, 2.58333333, 4.41666667, 3.41666667, 2.75, 3.25, 3.25, 2.91666667, 4.08333333, 2.75,
                4.58333333, 3.58333333, 2.91666667, 2.5, 3.41666667});
  static constexpr Pool3dOptions padded{.kernel = 3, .stride = 2, .pad_mode = PadMode::pad, .padding = 1};
  check_values(both_modes([](const auto& v) { return max_pool3d<padded>(v); }, x).result,
               {9, 9, 9, 7, 10, 8, 9, 9, 9, 10, 10, 9, 8, 8, 9, 7, 9, 9, 10, 8, 9, 7, 9, 9});
  check_values(both_modes([](const auto& v) { return avg_pool3d<padded>(v); }, x).result,
               {1.07407407, 1.62962963, 1.18518519, 1.14814815, 2.33333333,  1.25925926, 1.40740741,  1.51851852,
                1.51851852, 1.44444444, 2.37037037, 1.55555556, 0.851851852, 1.2962963,  0.962962963, 1.22222222,
                2.44444444, 1.74074074, 1.18518519, 1.18518519, 1.2962963,   1.11111111, 2.07407407,  1.22222222});
  static constexpr Pool3dOptions inside{
      .kernel = 3, .stride = 2, .pad_mode = PadMode::pad, .padding = 1, .count_include_pad = false};
  check_values(
      both_modes([](const auto& v) { return avg_pool3d<inside>(v); }, x).result,
      {3.625, 3.66666667, 4,    2.58333333, 3.5,        2.83333333, 4.75, 3.41666667, 5.125, 3.25, 3.55555556, 3.5,
       2.875, 2.91666667, 3.25, 2.75,       3.66666667, 3.91666667, 4,    2.66666667, 4.375, 2.5,  3.11111111, 2.75});
  CHECK(same_bits(nn::MaxPool3d<2, nn::Pool3dConfig{.stride = 2}>{}(x), max_pool3d<2>(x)));
  CHECK(same_bits(nn::AvgPool3d<2, nn::Pool3dConfig{.stride = 2}>{}(x), avg_pool3d<2>(x)));
  both_modes([](const auto& v) { return max_pool3d<2>(v); }, random_tensor<float, Shape<dyn, 3, 4, 6, 6>>(1, -1, 1, 3));
  check_gradients([](const auto& v) { return avg_pool3d<window>(v); }, random_tensor<double, Shape<1, 1, 3, 4, 5>>(2));
  check_gradients([](const auto& v) { return max_pool3d<window>(v); }, random_tensor<double, Shape<1, 1, 3, 4, 5>>(2));
}

TEST_CASE("indices of maxima, and unpooling: values of PyTorch, ties, NaN") {
  const auto x = counted<Shape<1, 2, 5, 6>>();
  static constexpr Pool2dOptions window{.kernel = 3, .stride = 2, .pad_mode = PadMode::pad, .padding = 1};
  const auto [y, indices] = max_pool2d_with_indices<window>(x);
  CHECK(same_bits(y, max_pool2d<window>(x)));
  check_values(indices, {1, 1, 4, 12, 15, 23, 18, 26, 23, 7, 7, 4, 18, 15, 15, 18, 26, 29});
  both_modes([](const auto& v) { return std::get<1>(max_pool2d_with_indices<window>(v)); },
             random_tensor<float, Shape<dyn, 3, 7, 9>>(1, -1, 1, 3));
  both_modes([](const auto& v) { return std::get<0>(max_pool2d_with_indices<window>(v)); },
             random_tensor<float, Shape<dyn, 3, 7, 9>>(1, -1, 1, 3));
  constexpr auto back = [](const auto& v) {
    const auto [largest, places] = max_pool2d_with_indices<window>(v);
    return max_unpool2d<5, 6>(largest, places);
  };
  check_values(both_modes(back, x).result,
               {0, 9, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0, 10, 0, 0, 6, 0, 0, 6, 0, 0, 0, 0, 7, 0, 0, 7,  0, 0, 0,
                0, 0, 0, 0, 8, 0, 0, 8, 0, 0, 0, 0, 0,  0, 0, 9, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0, 10, 0, 0, 6});
  // without windows that share a pixel, whose elements all get its gradient, as in PyTorch
  check_gradients(
      [](const auto& v) {
        const auto [largest, places] = max_pool2d_with_indices<2>(v);
        return max_unpool2d<4, 6>(largest, places);
      },
      random_tensor<double, Shape<1, 2, 4, 6>>(3));
  const auto nan = tensor_of<float, Shape<1, 1, 2, 2>>({NAN, 2, NAN, 1});
  CHECK(std::get<1>(max_pool2d_with_indices<2>(nan)).item() == 2);
}

TEST_CASE("tensor_scatter_elements: the largest, the smallest, the product; values and gradients of PyTorch") {
  const auto x = tensor_of<float, Shape<2, 3>>({1, 2, 3, -4, 5, 6});
  const auto numbers = tensor_of<std::int64_t, Shape<2, 4>>({0, 2, 2, -3, 1, 1, 1, 0});
  const auto v = tensor_of<float, Shape<2, 4>>({2, 3, 1, 2, -7, 5, 0.5f, 8});
  using ops::ScatterReduction;
  constexpr auto larger = [](const auto& t, const auto& i, const auto& e) {
    return tensor_scatter_elements<1, ScatterReduction::max>(t, i, e);
  };
  const auto largest = both_modes(larger, x, numbers, v);
  check_values(largest.result, {2, 2, 3, 8, 5, 6});
  constexpr auto smaller = [](const auto& t, const auto& i, const auto& e) {
    return tensor_scatter_elements<1, ScatterReduction::min>(t, i, e);
  };
  check_values(both_modes(smaller, x, numbers, v).result, {1, 2, 1, -4, -7, 6});
  constexpr auto product = [](const auto& t, const auto& i, const auto& e) {
    return tensor_scatter_elements<1, ScatterReduction::mul>(t, i, e);
  };
  check_values(both_modes(product, x, numbers, v).result, {4, 2, 9, -32, -87.5, 6});
  both_modes(larger, random_tensor<bfloat16, Shape<3, 5>>(1), random_tensor<std::int32_t, Shape<3, 9>>(2, 0, 5),
             random_tensor<bfloat16, Shape<3, 9>>(3));
  CHECK(same_bits(product(tensor_of<std::int32_t, Shape<1, 2>>({2, 3}), tensor_of<std::int32_t, Shape<1, 2>>({1, 1}),
                          tensor_of<std::int32_t, Shape<1, 2>>({5, 7})),
                  tensor_of<std::int32_t, Shape<1, 2>>({2, 105})));
}
