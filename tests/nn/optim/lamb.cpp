// Lamb: its rule of whole parameters, zeros, 16 bits, refused numbers.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include <tenon/nn/optim/lamb.hpp>

#include "rule.hpp"

using namespace rules;

namespace {
WholeRule lamb_rule(double decay, double scale = 1) {
  return [=](States& states, const std::vector<double>& gradient, double rate, int t) {
    const double b1 = 0.9f, b2 = 0.999f;
    double own = 0, step = 0;
    std::vector<double> direction;
    for (std::size_t i = 0; i < states.size(); ++i) {
      State& s = states[i];
      const double g = gradient[i] / scale;
      s.a = b1 * s.a + (1 - b1) * g;
      s.b = b2 * s.b + (1 - b2) * g * g;
      direction.push_back(s.a / (1 - std::pow(b1, t)) / (std::sqrt(s.b / (1 - std::pow(b2, t))) + 1e-6f) + decay * s.p);
      own += s.p * s.p;
      step += direction[i] * direction[i];
    }
    const double ratio = own > 0 && step > 0 ? std::sqrt(own / step) : 1;
    for (std::size_t i = 0; i < states.size(); ++i) states[i].p -= rate * ratio * direction[i];
  };
}
}  // namespace

TEST_CASE("lamb: its rule, for parameters of one piece and of several, with decay and loss scale") {
  check_whole_rule<float, Shape<19>>(nn::Lamb{.learning_rate = 0.1}, lamb_rule(0), 1e-6);
  check_whole_rule<float, Shape<7, 700>>(nn::Lamb{.learning_rate = 0.1, .weight_decay = 0.25f}, lamb_rule(0.25), 1e-6);
  check_whole_rule<float, Shape<2, 2000>>(nn::Lamb{.learning_rate = 0.1, .loss_scale = 4}, lamb_rule(0, 4), 1e-6);
  check_whole_rule<double, Shape<2000>>(nn::Lamb{.learning_rate = 0.125}, lamb_rule(0), 1e-7);
  check_whole_rule<float16, Shape<2000>>(nn::Lamb{.learning_rate = 0.1}, lamb_rule(0), 2e-3);
}

TEST_CASE("lamb: a parameter of zeros moves by the learning rate, one without gradient stays") {
  for (const Mode mode : modes) {
    const ContextScope scope({.mode = mode});
    Wide<float, Shape<4>> net;
    Model model{net, NoLoss{}, nn::Lamb{.learning_rate = 0.5}};
    const std::vector<float> x{1, -2, 0, 4};
    model.train(1, dataset::from_arrays(dataset::column<Shape<4>>(x)) | dataset::batch(1));
    CHECK(net.weight.values()[0] == doctest::Approx(-0.5).epsilon(1e-5));
    CHECK(net.weight.values()[1] == doctest::Approx(0.5).epsilon(1e-5));
    CHECK(net.weight.values()[2] == 0);
    Wide<float, Shape<4>> still;
    Model another{still, NoLoss{}, nn::Lamb{.learning_rate = 0.5}};
    std::fill_n(still.weight.values().begin(), 4, 2.0f);
    another.train(1, dataset::from_arrays(dataset::column<Shape<4>>(std::vector<float>(4))) | dataset::batch(1));
    for (const float w : still.weight.values()) CHECK(w == 2);
  }
}

TEST_CASE("lamb: a step that overflows is left out") { check_overflow_skips(nn::Lamb{.learning_rate = 0.1}); }

TEST_CASE("lamb: illegal numbers are refused when the Model is made") {
  Net net;
  const auto make = [&](nn::Lamb lamb) { Model(net, nn::SoftmaxCrossEntropyWithLogits{}, lamb); };
  CHECK_THROWS_WITH_AS(make({.learning_rate = 0.1, .beta1 = 1}),
                       "Lamb: beta1 must be between 0 and 1, both excluded, got 1.", ValueError);
  CHECK_THROWS_AS(make({.learning_rate = 0.1, .beta2 = 0}), ValueError);
  CHECK_THROWS_AS(make({.learning_rate = 0.1, .eps = 0}), ValueError);
}

TEST_CASE("lamb: a norm that is NaN makes all of the parameter NaN, in both modes") {
  for (const Mode mode : modes) {
    const ContextScope scope({.mode = mode});
    Wide<float, Shape<4>> net;
    net.init_parameters();
    for (float& w : net.weight.values()) w = 1;
    Model model{net, NoLoss{}, nn::Lamb{.learning_rate = 0.5}};
    const auto data = dataset::from_arrays(dataset::column<Shape<4>>(std::vector<float>{1, NAN, 0, 4}));
    CHECK_THROWS_AS(model.train(1, data | dataset::batch(1)), Error);
    for (const float w : net.weight.values()) CHECK(std::isnan(w));
  }
}
