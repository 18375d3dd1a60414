// Activations of tenon/more.hpp: both modes, dtypes, derivatives, PReLU's weight, refusals.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include "../support/both_modes.hpp"
#include "../support/gradient_check.hpp"
#include "../support/second_derivative.hpp"
#include "../support/shape_rule.hpp"

#include <tenon/more.hpp>

using namespace tenon;
using namespace support;

namespace {

/// Both modes in every floating-point dtype, and derivatives in float64 on both sides of the kinks in `corners`.
template <class F>
void check_activation(const F& f, std::initializer_list<double> corners) {
  both_modes(f, random_tensor<float, Shape<dyn, 5>>(1, -4, 4, 9));
  both_modes(f, random_tensor<float16, Shape<dyn, 5>>(2, -4, 4, 9));
  both_modes(f, random_tensor<bfloat16, Shape<dyn, 5>>(3, -4, 4, 9));
  auto x = random_tensor<double, Shape<dyn, 4>>(4, -4, 4, 4);
  for (double& element : x.values())
    for (const double corner : corners)
      if (std::fabs(element - corner) < 0.01) element = corner + 0.02;
  check_gradients(f, x);
  check_second_derivatives(f, x);
  both_modes(f, x);
}

}  // namespace

TEST_CASE("activations with straight pieces") {
  check_activation([](const auto& x) { return square(relu6(x)); }, {0, 6});
  check_activation([](const auto& x) { return square(hardtanh(x, -0.5, 2)); }, {-0.5, 2});
  check_activation([](const auto& x) { return square(hsigmoid(x)); }, {-3, 3});
  check_activation([](const auto& x) { return hswish(x); }, {-3, 3});
  check_activation([](const auto& x) { return square(leaky_relu(x, 0.1)); }, {0});
  check_activation([](const auto& x) { return square(hardshrink(x)); }, {-0.5, 0.5});
  check_activation([](const auto& x) { return square(softshrink(x, 0.75)); }, {-0.75, 0.75});
}

TEST_CASE("activations with exponentials") {
  check_activation([](const auto& x) { return elu(x, 1.5); }, {0});
  check_activation([](const auto& x) { return celu(x, 0.75); }, {0});
  check_activation([](const auto& x) { return selu(x); }, {0});
  check_activation([](const auto& x) { return mish(x); }, {});
  check_activation([](const auto& x) { return logsigmoid(x); }, {});
  check_activation([](const auto& x) { return softsign(x); }, {0});
  check_activation([](const auto& x) { return fast_gelu(x); }, {});
}

TEST_CASE("activations: values that others state") {
  const Tensor x{-7.0f, -1.0f, 0.0f, 0.25f, 2.0f, 7.0f};
  const auto check = [&](auto f, std::initializer_list<float> expected) {
    const auto y = both_modes(f, x).result;
    for (std::size_t i = 0; i < 6; ++i) CHECK(y.values()[i] == doctest::Approx(expected.begin()[i]).epsilon(1e-6));
  };
  check([](const auto& v) { return relu6(v); }, {0, 0, 0, 0.25f, 2, 6});
  check([](const auto& v) { return hardtanh(v); }, {-1, -1, 0, 0.25f, 1, 1});
  check([](const auto& v) { return hsigmoid(v); }, {0, 0.33333333f, 0.5f, 0.54166667f, 0.83333333f, 1});
  check([](const auto& v) { return hswish(v); }, {0, -0.33333333f, 0, 0.13541667f, 1.66666667f, 7});
  check([](const auto& v) { return leaky_relu(v); }, {-1.4f, -0.2f, 0, 0.25f, 2, 7});
  check([](const auto& v) { return hardshrink(v); }, {-7, -1, 0, 0, 2, 7});
  check([](const auto& v) { return softshrink(v); }, {-6.5f, -0.5f, 0, 0, 1.5f, 6.5f});
  check([](const auto& v) { return softsign(v); }, {-0.875f, -0.5f, 0, 0.2f, 0.66666667f, 0.875f});
  check([](const auto& v) { return elu(v); }, {-0.99908812f, -0.63212056f, 0, 0.25f, 2, 7});
}

TEST_CASE("prelu: a weight for all channels, one for each, as a tensor and as a parameter") {
  const auto x = random_tensor<double, Shape<dyn, 3, 2>>(5, 0.1, 2, 2);
  const auto w = random_tensor<double, Shape<3>>(6);
  auto mixed = x.copy();
  for (std::size_t i = 0; i < mixed.values().size(); i += 2) mixed.values()[i] *= -1;
  check_gradients([](const auto& v, const auto& s) { return prelu(v, s); }, mixed, w);
  check_gradients([](const auto& v, const auto& s) { return prelu(v, s); }, mixed, Tensor{0.3});
  const auto y = both_modes([](const auto& v, const auto& s) { return prelu(v, s); }, mixed, w).result;
  for (std::size_t i = 0; i < mixed.values().size(); ++i) {
    const double v = mixed.values()[i];
    CHECK(y.values()[i] == (v > 0 ? v : w.values()[i / 2 % 3] * v));
  }
  both_modes([](const auto& v, const auto& s) { return prelu(v, s); }, random_tensor<float, Shape<dyn, 3>>(7, -1, 1, 5),
             random_tensor<float, Shape<3>>(8));
}

TEST_CASE("activations refuse integers") {
  CHECK(refusal<ops::Elu>({}, {Tensor<int, Shape<dyn>>::dims, Tensor<int, Shape<>>::dims}) ==
        "ELU needs floating-point operands, got int32 [n]: cast it");
}
