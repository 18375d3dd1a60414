// Layer and batch normalization on Reference and on the CPU: dtypes, batches, several axes, moving statistics.
// label: long
#define TENON_TARGET reference
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <tenon/nn/layer/norm/batch_norm.hpp>
#include <tenon/ops/ops.hpp>

#include "../../../support/both_modes.hpp"

using namespace tenon;
using namespace support;

namespace {
constexpr auto layer_norm = [](const auto& x, const auto& gamma, const auto& beta) {
  return ops::layer_norm(x, gamma, beta);
};
constexpr auto batch_norm = [](const auto& x, const auto& gamma, const auto& beta) {
  constexpr ops::BatchNormAttributes attributes{1e-5f, std::remove_cvref_t<decltype(x)>::dims.rank};
  const auto here = std::source_location::current();
  return apply<ops::BatchNorm, attributes>(here, x, apply<ops::BatchNormStatistics, attributes>(here, x), gamma, beta);
};

template <class T, class P, class S, class G>
void check(const auto& f, long n) {
  CAPTURE(n);
  both_modes(f, random_tensor<T, S>(1, -3, 5, n), random_tensor<P, G>(2), random_tensor<P, G>(3));
}
template <class T, class P>
void check_dtype() {
  for (const long n : {1, 4}) {
    check<T, P, Shape<dyn, 13>, Shape<13>>(layer_norm, n);
    check<T, P, Shape<dyn, 2, 3, 5>, Shape<3, 5>>(layer_norm, n);
    check<T, P, Shape<dyn, 3, 5, 7>, Shape<3>>(batch_norm, n);
  }
  check<T, P, Shape<2, 3>, Shape<2, 3>>(layer_norm, 1);
  check<T, P, Shape<dyn, 17>, Shape<17>>(batch_norm, 9);
  check<T, P, Shape<dyn, 5, 1, 1>, Shape<5>>(batch_norm, 19);
  check<T, P, Shape<4, 2, 3, 3>, Shape<2>>(batch_norm, 1);
}
}  // namespace

TEST_CASE("normalization: float32") { check_dtype<float, float>(); }
TEST_CASE("normalization: float64") { check_dtype<double, double>(); }
TEST_CASE("normalization: float16") { check_dtype<float16, float>(); }
TEST_CASE("normalization: bfloat16") { check_dtype<bfloat16, float>(); }

TEST_CASE("normalization: equal numbers have no variance, however large they are") {
  const auto x = Tensor<double, Shape<2, 13>>::full(100000.3);
  const auto y = both_modes(layer_norm, x, Tensor<double, Shape<13>>::full(1), Tensor<double, Shape<13>>::full(0.25));
  CHECK(y.result.data()[0] == 0.25);
  both_modes(batch_norm, x, Tensor<double, Shape<13>>::full(1), Tensor<double, Shape<13>>::full(0.25));
}

TEST_CASE("normalization: inside of a network") {
  both_modes([](const auto& x, const auto& gamma,
                const auto& beta) { return relu(batch_norm(x, gamma, beta) + x) * sigmoid(x); },
             random_tensor<float, Shape<dyn, 6, 5, 5>>(1, -2, 2, 20), random_tensor<float, Shape<6>>(2),
             random_tensor<float, Shape<6>>(3));
}

namespace {
// Result in evaluation, and both moving statistics, after two steps of training.
template <class Norm, class X>
auto after_training(Mode mode, std::string_view target, const X& x) {
  const ContextScope scope({.mode = mode, .device_target = target});
  Norm norm;
  norm.set_train();
  norm(x), norm(x * 0.5f);
  norm.requires_grad(false);  // the third step moves nothing
  norm(x * 0.25f);
  norm.set_train(false);
  const auto y = norm(x);
  std::vector<float> all(y.values().begin(), y.values().end());
  for (const auto& moving : {norm.moving_mean.values(), norm.moving_variance.values()})
    all.insert(all.end(), moving.begin(), moving.end());
  return all;
}
template <class Norm, class X>
void check_moving(const X& x) {
  const std::vector<float> expected = after_training<Norm>(Mode::graph, "CPU", x),
                           eager = after_training<Norm>(Mode::pynative, "Reference", x),
                           graph = after_training<Norm>(Mode::graph, "Reference", x);
  CHECK(eager == graph);
  REQUIRE(expected.size() == eager.size());
  for (std::size_t i = 0; i < expected.size(); ++i) CHECK(eager[i] == doctest::Approx(expected[i]).epsilon(1e-5));
}
}  // namespace

TEST_CASE("normalization: moving statistics, and evaluation with them") {
  check_moving<nn::BatchNorm1d<5, nn::BatchNormConfig{.momentum = 0.3f}>>(
      random_tensor<float, Shape<dyn, 5>>(1, -1, 4, 7));
  check_moving<nn::BatchNorm2d<3>>(random_tensor<float, Shape<dyn, 3, 4, 5>>(1, -1, 4, 3));
}
