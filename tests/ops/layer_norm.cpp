// Layer normalization: values, gradients, equal bits in both modes and on any number of threads, bad shapes.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <cmath>

#include <tenon/core/context.hpp>
#include <tenon/ops/constant.hpp>
#include <tenon/ops/fused.hpp>
#include <tenon/ops/layer_norm.hpp>
#include <tenon/ops/mul.hpp>
#include <tenon/ops/structural.hpp>

#include "../support/both_modes.hpp"
#include "../support/gradient_check.hpp"

using namespace tenon;
using support::random_tensor;

namespace {

const auto normalized = [](const auto& x, const auto& gamma, const auto& beta) {
  return ops::layer_norm(x, gamma, beta);
};

template <class... Shapes>
Sentence error_of(Dtype parameters = Dtype::float32) {
  OperandTypes in{{Shapes::dims...}, int(sizeof...(Shapes))};
  in.type[1].dtype = parameters;
  Sentence error;
  ops::LayerNorm::shape(in, {}, error);
  return error;
}

}  // namespace

TEST_CASE("layer_norm: rows against a computation in double") {
  const auto x = random_tensor<float, Shape<dyn, 3, 37>>(1, -3, 5);
  const auto gamma = random_tensor<float, Shape<37>>(2), beta = random_tensor<float, Shape<37>>(3);
  const auto y = normalized(x, gamma, beta);
  for (long row = 0; row < 9; ++row) {
    double mean = 0, variance = 0;
    for (long i = 0; i < 37; ++i) mean += x.data()[row * 37 + i] / 37.0;
    for (long i = 0; i < 37; ++i) variance += (x.data()[row * 37 + i] - mean) * (x.data()[row * 37 + i] - mean) / 37;
    for (long i = 0; i < 37; ++i)
      CHECK(std::fabs(y.data()[row * 37 + i] -
                      ((x.data()[row * 37 + i] - mean) / std::sqrt(variance + 1e-7) * gamma.data()[i] +
                       beta.data()[i])) < 3e-6);
  }
}

TEST_CASE("layer_norm: rows far from zero keep their digits") {
  auto x = random_tensor<float, Shape<1, 64>>(1, 0, 1);
  for (float& v : x.values()) v = 10000 + std::floor(v * 64) / 64;  // exact in float
  const auto y = normalized(x, (Tensor<float, Shape<64>>::full(1)), (Tensor<float, Shape<64>>::full(0)));
  double square = 0;
  for (float v : y.values()) square += double(v) * v / 64;
  CHECK(std::fabs(square - 1) < 1e-4);
}

TEST_CASE("layer_norm: a constant row gives beta") {
  const auto y = normalized((Tensor<float, Shape<2, 5>>::full(3)), (Tensor<float, Shape<5>>::full(2)),
                            random_tensor<float, Shape<5>>(3));
  const auto beta = random_tensor<float, Shape<5>>(3);
  for (long i = 0; i < 10; ++i) CHECK(y.data()[i] == beta.data()[i % 5]);
}

TEST_CASE("layer_norm: gradients in double") {
  support::check_gradients(normalized, random_tensor<double, Shape<dyn, 7>>(1), random_tensor<double, Shape<7>>(2),
                           random_tensor<double, Shape<7>>(3));
  support::check_gradients(normalized, random_tensor<double, Shape<2, 3, 2, 5>>(4),
                           random_tensor<double, Shape<2, 5>>(5), random_tensor<double, Shape<2, 5>>(6));
  support::check_gradients(normalized, random_tensor<double, Shape<2, 3>>(7), random_tensor<double, Shape<2, 3>>(8),
                           random_tensor<double, Shape<2, 3>>(9));
}

TEST_CASE("layer_norm: equal bits in both modes, and with four threads") {
  const auto x = random_tensor<float, Shape<dyn, 5, 130>>(1, -3, 3, 40);
  const auto gamma = random_tensor<float, Shape<130>>(2), beta = random_tensor<float, Shape<130>>(3);
  const ContextScope one({.num_threads = 1});
  const auto single = support::both_modes(normalized, x, gamma, beta);
  const ContextScope four({.num_threads = 4});
  const auto shared = support::both_modes(normalized, x, gamma, beta);
  CHECK(support::same_bits(single.result, shared.result));
  CHECK(support::same_bits(std::get<1>(single.gradient), std::get<1>(shared.gradient)));
  CHECK(std::get<1>(single.gradient).data()[0] != 0);
}

TEST_CASE("layer_norm: 16-bit floats beside parameters of float32") {
  const auto wide = random_tensor<float, Shape<dyn, 16>>(1);
  const auto gamma = random_tensor<float, Shape<16>>(2), beta = random_tensor<float, Shape<16>>(3);
  auto x = Tensor<float16, Shape<dyn, 16>>::empty(wide.n());
  auto rounded = wide.copy();
  for (long i = 0; i < wide.count(); ++i) x.data()[i] = float16(wide.data()[i]), rounded.data()[i] = x.data()[i];
  const auto y = support::both_modes(normalized, x, gamma, beta).result;
  const auto expected = normalized(rounded, gamma, beta);
  for (long i = 0; i < y.count(); ++i) CHECK(y.data()[i].bits == float16(expected.data()[i]).bits);
}

TEST_CASE("layer_norm: bad operands") {
  CHECK((error_of<Shape<dyn, 8>, Shape<8>, Shape<8>>().empty()));
  CHECK((error_of<Shape<dyn, 7>, Shape<8>, Shape<8>>().view() ==
         "LayerNorm got an input [n,7], its gamma [8] normalizes the last axes, which must be [8]"));
  CHECK((error_of<Shape<8>, Shape<4, 8>, Shape<4, 8>>().view() ==
         "LayerNorm got an input [8], its gamma [4,8] normalizes the last axes, which must be [4,8]"));
  CHECK((error_of<Shape<dyn, 8>, Shape<8>, Shape<1>>().view() ==
         "LayerNorm got gamma [8] and beta [1], which must have one shape"));
  CHECK((error_of<Shape<dyn, 8>, Shape<8>, Shape<8>>(Dtype::float16).view() ==
         "LayerNorm of float32 needs parameters of float32, got float16"));
}

TEST_CASE("layer_norm: equal elements become beta, however large they are") {
  const auto x = Tensor<float, Shape<1, 13>>::full(100000.3f);
  const auto y = normalized(x, Tensor<float, Shape<13>>::full(1), Tensor<float, Shape<13>>::full(0.25f));
  for (const float v : y.values()) CHECK(v == 0.25f);
}
