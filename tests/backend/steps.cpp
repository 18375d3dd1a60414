// Fused kernels against the same operators one by one, bit for bit, on the operators that have an epilogue.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <tenon/nn/jit.hpp>
#include <tenon/ops/conv2d.hpp>
#include <tenon/ops/div.hpp>
#include <tenon/ops/matmul.hpp>
#include <tenon/ops/relu.hpp>
#include <tenon/ops/sub.hpp>
#include <tenon/ops/tanh.hpp>

#include "../support/both_modes.hpp"

using namespace tenon;
using support::both_modes, support::random_tensor;

namespace {
// Number of kernels of f, so that a test knows that something was fused.
template <class F, class... X>
int kernels_of(F, const X&...) {
  using Graph = Compiled<tenon::detail::FunctionGraph<F, typename tenon::detail::KeyFor<X>::type...>>;
  return Graph::program.instructions - Graph::choice.conversions;
}
template <class F, class... X>
void check_fused(int kernels, F f, const X&... x) {
  CHECK(kernels_of(f, x...) == kernels);
  const FlushDenormals flush;
  CHECK(support::same_bits(jit(f)(x...), f(x...)));
  both_modes(f, x...);  // with gradients, which keep some values from being fused
}
}  // namespace

TEST_CASE("a chain of many steps, with numbers, broadcasting, and a value used twice in it") {
  const auto x = random_tensor<float, Shape<dyn, 37>>(1, -2, 2, 5),
             y = random_tensor<float, Shape<dyn, 37>>(2, 1, 2, 5);
  const auto row = random_tensor<float, Shape<37>>(3);
  check_fused(1, [](auto a, auto b, auto r) { return tanh((a - b) * 0.7f + r) / b - r * a; }, x, y, row);
}

TEST_CASE("16-bit floats round after every step, also in a fused kernel") {
  const auto x = random_tensor<float16, Shape<dyn, 9>>(1), y = random_tensor<float16, Shape<dyn, 9>>(2);
  const auto f = [](auto a, auto b) { return (a * b + a) * b - a; };
  check_fused(1, f, x, y);
  check_fused(1, f, random_tensor<bfloat16, Shape<dyn, 9>>(1), random_tensor<bfloat16, Shape<dyn, 9>>(2));
}

TEST_CASE("a product with number, bias, residual, and activation") {
  const auto x = random_tensor<float, Shape<dyn, 19>>(1, -1, 1, 21);
  const auto w = random_tensor<float, Shape<19, 23>>(2, -1, 1);
  const auto bias = random_tensor<float, Shape<23>>(3);
  const auto one = Tensor<float, Shape<>>::full(0.3f);
  check_fused(1, [](auto a, auto b, auto c) { return relu(matmul(a, b) * 0.5f + c); }, x, w, bias);
  const auto residual = random_tensor<float, Shape<dyn, 23>>(4, -1, 1, 21);
  check_fused(
      1, [](auto a, auto r, auto c) { return relu(r - matmul<ops::Transposed::second>(a, r) * c); },
      random_tensor<float, Shape<6, 6>>(5), random_tensor<float, Shape<6, 6>>(6), one);
  check_fused(1, [](auto a, auto b, auto r) { return relu(matmul(a, b) + r); }, x, w, residual);
}

TEST_CASE("stacks of matrices: one value per column is fused, one per matrix is not mistaken for it") {
  const auto a = random_tensor<float, Shape<dyn, 3, 5, 4>>(1, -1, 1, 2);
  const auto b = random_tensor<float, Shape<dyn, 3, 4, 6>>(2, -1, 1, 2);
  const auto per_column = random_tensor<float, Shape<6>>(3);
  const auto per_matrix_column = random_tensor<float, Shape<3>>(3);
  const auto per_matrix = random_tensor<float, Shape<3, 1, 1>>(4);
  check_fused(1, [](auto x, auto y, auto c) { return relu(matmul(x, y) + c); }, a, b, per_column);
  check_fused(2, [](auto x, auto y, auto c) { return matmul(x, y) * c; }, a, b, per_matrix);
  // as many columns as matrices: only the axis tells them apart
  const auto square = random_tensor<float, Shape<dyn, 3, 4, 3>>(5, -1, 1, 2);
  check_fused(2, [](auto x, auto y, auto c) { return matmul(x, y) * c; }, a, square, per_matrix);
  check_fused(1, [](auto x, auto y, auto c) { return matmul(x, y) * c; }, a, square, per_matrix_column);
}

TEST_CASE("a convolution with bias per channel, residual, and activation") {
  const auto x = random_tensor<float, Shape<dyn, 3, 7, 7>>(1, -1, 1, 2);
  const auto w = random_tensor<float, Shape<3, 3, 3, 3>>(2, -1, 1);
  const auto bias = random_tensor<float, Shape<3, 1, 1>>(3);
  check_fused(
      1,
      [](auto a, auto k, auto c) {
        return relu((conv2d<Conv2dOptions{.pad_mode = PadMode::same}>(a, k) + c) * 2.0f + a);
      },
      x, w, bias);
  const auto row = random_tensor<float, Shape<7>>(4);  // one value per column of the image is no channel
  check_fused(
      2, [](auto a, auto k, auto c) { return conv2d<Conv2dOptions{.pad_mode = PadMode::same}>(a, k) + c; }, x, w, row);
}
