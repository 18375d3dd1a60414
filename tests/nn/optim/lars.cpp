// LARS: its rule of whole parameters around other optimizers, what it leaves alone, refused numbers.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include <tenon/nn/layer/norm/layer_norm.hpp>
#include <tenon/nn/optim/adam.hpp>
#include <tenon/nn/optim/lars.hpp>
#include <tenon/nn/optim/sgd.hpp>
#include <tenon/train/checkpoint.hpp>

#include "rule.hpp"

using namespace rules;

namespace {
/// Momentum 0.5 inside.
WholeRule lars_rule(nn::LARSConfig c, double decay, double scale = 1) {
  return [=](States& states, const std::vector<double>& gradient, double rate, int) {
    double own = 0, slope = 0;
    for (std::size_t i = 0; i < states.size(); ++i) {
      own += states[i].p * states[i].p;
      slope += gradient[i] * gradient[i] / scale / scale;
    }
    double ratio = c.coefficient * std::sqrt(own) / (std::sqrt(slope) + decay * std::sqrt(own) + c.epsilon);
    if (c.use_clip) ratio = std::min(ratio / rate, 1.0);
    for (std::size_t i = 0; i < states.size(); ++i) {
      State& s = states[i];
      s.a = 0.5 * s.a + ratio * (gradient[i] / scale + decay * s.p);
      s.p -= rate * s.a;
    }
  };
}
nn::Momentum momentum(float decay = 0, float scale = 1) {
  return {.learning_rate = 0.5, .momentum = 0.5f, .weight_decay = decay, .loss_scale = scale};
}
}  // namespace

TEST_CASE("lars: its rule, for parameters of one piece and of several, with decay, loss scale, and clipping") {
  check_whole_rule<float, Shape<19>>(nn::LARS{momentum()}, lars_rule({}, 0), 1e-6);
  const nn::LARSConfig large{.epsilon = 0.5f, .coefficient = 2};
  check_whole_rule<float, Shape<7, 700>>(nn::LARS{momentum(0.25f), large}, lars_rule(large, 0.25), 1e-6);
  check_whole_rule<float, Shape<2000>>(nn::LARS{momentum(0.25f, 4), large}, lars_rule(large, 0.25, 4), 1e-6);
  check_whole_rule<double, Shape<2000>>(nn::LARS{momentum(), large}, lars_rule(large, 0), 1e-6);
  const nn::LARSConfig clipped{.coefficient = 0.125f, .use_clip = true}, at_most{.coefficient = 8, .use_clip = true};
  check_whole_rule<float, Shape<2000>>(nn::LARS{momentum(), clipped}, lars_rule(clipped, 0), 1e-6);
  check_whole_rule<float, Shape<2000>>(nn::LARS{momentum(), at_most}, lars_rule(at_most, 0), 2e-6);
}

TEST_CASE("lars: zeros have a ratio of 1, whatever is inside") {
  for (const Mode mode : modes) {
    const ContextScope scope({.mode = mode});
    Wide<float, Shape<4>> net;
    Model model{net, NoLoss{}, nn::LARS{nn::SGD{.learning_rate = 0.5}}};
    const auto data = dataset::from_arrays(dataset::column<Shape<4>>(std::vector<float>{1, -2, 0, 4}));
    model.train(1, data | dataset::batch(1));
    CHECK(std::vector<float>(net.weight.values().begin(), net.weight.values().end()) ==
          std::vector<float>{-0.5f, 1, 0, -2});
    Wide<float, Shape<4>> other;
    Model adam{other, NoLoss{}, nn::LARS{nn::Adam{.learning_rate = 0.5}}};
    adam.train(1, data | dataset::batch(1));
    CHECK(other.weight.values()[0] == doctest::Approx(-0.5));
    CHECK(adam.optimizer_state()[0].name == "moment1.weight");
  }
}

namespace {
struct Named : nn::Cell<Named> {
  Parameter<float, Shape<4>, nn::One{}> weight, bias;
  nn::LayerNorm<Shape<4>> norm;
  constexpr auto construct(auto x) const { return ops::reduce_sum(norm(x * weight + bias)); }
};
}  // namespace

TEST_CASE("lars: biases and what belongs to a LayerNorm keep their gradient, and do not decay") {
  const auto data =
      dataset::from_arrays(dataset::column<Shape<4>>(std::vector<float>{1, -2, 3, 4})) | dataset::batch(1);
  const auto trained = [&](auto optimizer) {
    Named net;
    Model model{net, NoLoss{}, optimizer};
    model.train(1, data);
    std::vector<std::vector<float>> all;
    for (const auto& [name, tensor] : named_parameters(net)) {
      const auto values = tensor.template as<float>();
      all.emplace_back(values.begin(), values.end());
    }
    return all;  // weight, bias, gamma, beta
  };
  const nn::SGD plain{.learning_rate = 0.5}, decaying{.learning_rate = 0.5, .weight_decay = 0.25f};
  const auto expected = trained(plain), found = trained(nn::LARS{decaying});
  REQUIRE(found.size() == 4);
  CHECK(found[0] != expected[0]);
  for (std::size_t k = 1; k < 4; ++k) CHECK(found[k] == expected[k]);
}

TEST_CASE("lars: a step that overflows is left out") { check_overflow_skips(nn::LARS{momentum()}); }

TEST_CASE("lars: illegal numbers are refused when the Model is made, those inside, too") {
  Net net;
  const auto make = [&](auto lars) { Model(net, nn::SoftmaxCrossEntropyWithLogits{}, lars); };
  CHECK_THROWS_WITH_AS(make(nn::LARS{momentum(), {.coefficient = 0}}),
                       "LARS: coefficient must be a finite number above 0, got 0.", ValueError);
  CHECK_THROWS_AS(make(nn::LARS{momentum(), {.epsilon = -1}}), ValueError);
  CHECK_THROWS_AS(make(nn::LARS{nn::Momentum{.learning_rate = 0.1, .momentum = -1}}), ValueError);
}

TEST_CASE("lars: a norm that is NaN makes all of the parameter NaN, in both modes") {
  for (const bool use_clip : {false, true})
    for (const Mode mode : modes) {
      const ContextScope scope({.mode = mode});
      Wide<float, Shape<4>> net;
      net.init_parameters();
      for (float& w : net.weight.values()) w = 1;
      Model model{net, NoLoss{}, nn::LARS{momentum(), {.use_clip = use_clip}}};
      const auto data = dataset::from_arrays(dataset::column<Shape<4>>(std::vector<float>{1, NAN, 0, 4}));
      CHECK_THROWS_AS(model.train(1, data | dataset::batch(1)), Error);
      for (const float w : net.weight.values()) CHECK(std::isnan(w));
    }
}
