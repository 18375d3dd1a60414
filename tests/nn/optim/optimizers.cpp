// Optimizers: rules written out in double beside them, groups, schedules, refused numbers, 16-bit parameters.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include <tenon/nn/optim/adam.hpp>
#include <tenon/nn/optim/adam_weight_decay.hpp>
#include <tenon/nn/optim/sgd.hpp>

#include "rule.hpp"

using namespace rules;

namespace {
Rule momentum_rule(double m, bool nesterov) {
  return [=](State& s, double g, double rate, int) {
    s.a = m * s.a + g;
    s.p -= nesterov ? rate * (g + m * s.a) : rate * s.a;
  };
}
Rule sgd_rule(double m, double dampening, bool nesterov) {
  return [=](State& s, double g, double rate, int t) {
    s.a = t == 1 ? g : m * s.a + (1 - dampening) * g;
    s.p -= rate * (m == 0 ? g : nesterov ? g + m * s.a : s.a);
  };
}
Rule adam_rule(bool nesterov, bool amsgrad, bool corrected, double eps, double b2 = 0.999f) {
  return [=](State& s, double g, double rate, int t) {
    const double b1 = 0.9f;
    s.a = b1 * s.a + (1 - b1) * g;
    s.b = b2 * s.b + (1 - b2) * g * g;
    s.c = std::max(s.c, s.b);
    const double l = corrected ? rate * std::sqrt(1 - std::pow(b2, t)) / (1 - std::pow(b1, t)) : rate;
    s.p -= l * (nesterov ? b1 * s.a + (1 - b1) * g : s.a) / (std::sqrt(amsgrad ? s.c : s.b) + eps);
  };
}
std::string named_bits(const Net& net) {
  ParameterList(net).bind();
  return bits(net);
}
}  // namespace

TEST_CASE("momentum: its rule, with Nesterov's look-ahead, decay, and loss scale") {
  check_rule<float>(nn::Momentum{.learning_rate = 0.1, .momentum = 0.9f}, 0, true, momentum_rule(0.9f, false));
  check_rule<float>(nn::NesterovMomentum{.learning_rate = 0.1, .momentum = 0.9f, .weight_decay = 0.25f}, 0.25, true,
                    momentum_rule(0.9f, true));
  check_rule<double>(nn::Momentum{.learning_rate = 0.125, .momentum = 0.5f, .weight_decay = 0.25f}, 0.25, true,
                     momentum_rule(0.5, false), 1e-13);
  check_rule<float>(nn::Momentum{.learning_rate = 0.1, .momentum = 0.9f, .loss_scale = 4}, 0, true,
                    [](State& s, double g, double rate, int t) { momentum_rule(0.9f, false)(s, g / 4, rate, t); });
}

TEST_CASE("sgd: its rule; the first step takes the whole gradient") {
  check_rule<float>(nn::SGD{.learning_rate = 0.1}, 0, true, sgd_rule(0, 0, false));
  check_rule<float>(nn::SGD{.learning_rate = 0.1, .dampening = 0.5f, .weight_decay = 0.25f}, 0.25, true,
                    sgd_rule(0, 0, false));
  check_rule<float>(nn::SGD{.learning_rate = 0.1, .momentum = 0.9f, .dampening = 0.25f, .weight_decay = 0.25f}, 0.25,
                    true, sgd_rule(0.9f, 0.25, false));
  check_rule<float>(nn::NesterovSGD{.learning_rate = 0.1, .momentum = 0.9f}, 0, true, sgd_rule(0.9f, 0, true));
  check_rule<double>(nn::SGD{.learning_rate = 0.125, .momentum = 0.5f, .dampening = 0.25f}, 0, true,
                     sgd_rule(0.5, 0.25, false), 1e-13);
}

TEST_CASE("adam: its rule and variants") {
  check_rule<float>(nn::Adam{.learning_rate = 0.1}, 0, true, adam_rule(false, false, true, 1e-8), 1e-5);
  check_rule<float>(nn::Adam{.learning_rate = 0.1, .weight_decay = 0.25f}, 0.25, true,
                    adam_rule(false, false, true, 1e-8), 1e-5);
  check_rule<float>(nn::AdamWith<nn::AdamConfig{.use_nesterov = true}>{.learning_rate = 0.1}, 0, true,
                    adam_rule(true, false, true, 1e-8), 1e-5);
  // A short memory, or the largest square is always the last one.
  check_rule<float>(nn::AdamWith<nn::AdamConfig{.use_amsgrad = true}>{.learning_rate = 0.1, .beta2 = 0.5f}, 0, true,
                    adam_rule(false, true, true, 1e-8, 0.5), 1e-5);
  check_rule<double>(nn::Adam{.learning_rate = 0.125}, 0, true, adam_rule(false, false, true, 1e-8), 1e-7);
}

TEST_CASE("adam with decoupled decay: no bias correction, and the decay does not enter the moments") {
  check_rule<float>(nn::AdamWeightDecay{.learning_rate = 0.1}, 0, false, adam_rule(false, false, false, 1e-6), 1e-5);
  check_rule<float>(nn::AdamWeightDecay{.learning_rate = 0.1, .weight_decay = 0.25f}, 0.25, false,
                    adam_rule(false, false, false, 1e-6), 1e-5);
}

TEST_CASE("optimizers: 16-bit parameters compute in float and round once per step") {
  check_rule<float16>(nn::Adam{.learning_rate = 0.1}, 0, true, adam_rule(false, false, true, 1e-8), 2e-3);
  check_rule<float16>(nn::Momentum{.learning_rate = 0.1, .momentum = 0.9f}, 0, true, momentum_rule(0.9f, false), 2e-3);
  check_rule<bfloat16>(nn::SGD{.learning_rate = 0.1, .momentum = 0.9f}, 0, true, sgd_rule(0.9f, 0, false), 2e-2);
}

TEST_CASE("weight decay: without groups it skips beta and gamma, with groups it skips nothing") {
  nn::Momentum grouped{
      .learning_rate = 0.1, .momentum = 0.9f, .weight_decay = 0.25f, .groups = {{.params = {"weight"}}}};
  check_rule<float>(grouped, 0.25, true, momentum_rule(0.9f, false), 1e-6, true);
}

TEST_CASE("groups: own rates and decays, patterns, and the optimizer's values outside") {
  Net net;
  nn::SGD sgd{.learning_rate = 0,
              .groups = {{.params = {"fc1.*"}, .learning_rate = 0.5},
                         {.params = {"*2.bias"}, .learning_rate = 0, .weight_decay = 0.5f}}};
  Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, sgd};
  const auto copy = [](auto& p) { return std::vector<float>(p.values().begin(), p.values().end()); };
  const auto w1 = copy(net.fc1.weight), b1 = copy(net.fc1.bias), w2 = copy(net.fc2.weight), b2 = copy(net.fc2.bias);
  model.train(1, ten());
  CHECK(copy(net.fc1.weight) != w1);
  CHECK(copy(net.fc1.bias) != b1);
  CHECK(copy(net.fc2.weight) == w2);
  CHECK(copy(net.fc2.bias) == b2);  // decay is multiplied by the rate
  model.optimizer().groups[1].learning_rate = 1;
  model.optimizer().groups[0].learning_rate = 0;
  const auto w1_then = copy(net.fc1.weight);
  model.train(1, ten());
  CHECK(copy(net.fc1.weight) == w1_then);
  CHECK(copy(net.fc2.bias) != b2);
  model.optimizer().groups.pop_back();
  CHECK_THROWS_AS(model.train(1, ten()), RuntimeError);
}

TEST_CASE("groups: what does not fit the network is refused when the Model is made") {
  Net net;
  using Groups = std::vector<nn::ParameterGroup>;
  const auto make = [&](Groups groups) {
    Model(net, nn::SoftmaxCrossEntropyWithLogits{},
          nn::Momentum{.learning_rate = 0.1, .momentum = 0.9f, .groups = std::move(groups)});
  };
  CHECK_NOTHROW(make({{.params = {"fc1.weight", "fc1.*"}}, {.params = {"fc2.*"}}}));
  CHECK_THROWS_WITH_AS(
      make({{.params = {"fc1.wieght"}}}),
      "Momentum: 'fc1.wieght' in group 0 matches no trainable parameter of the network. Did you mean 'fc1.weight'?",
      KeyError);
  CHECK_THROWS_AS(make({{.params = {"conv*"}}}), KeyError);
  CHECK_THROWS_WITH_AS(make({{.params = {"bias"}}}),
                       "Momentum: 'bias' in group 0 is no parameter's whole name. Did you mean '*.bias'?", KeyError);
  CHECK_THROWS_WITH_AS(make({{.params = {"fc1.*"}}, {.params = {"*.bias"}}}),
                       "Momentum: parameter 'fc1.bias' is in the groups 0 and 1; it may be in one.", RuntimeError);
  CHECK_THROWS_AS(make({{.params = {}}}), ValueError);
  CHECK_THROWS_AS(make({{.params = {"*"}, .weight_decay = -1.0f}}), ValueError);
  CHECK_THROWS_AS(make({{.params = {"fc1.*"}, .learning_rate = std::vector<float>(3, 0.1f)},
                        {.params = {"fc2.*"}, .learning_rate = std::vector<float>(4, 0.1f)}}),
                  ValueError);
}

TEST_CASE("patterns: a star stands for any text") {
  CHECK(nn::matches("fc1.weight", "fc1.weight"));
  CHECK_FALSE(nn::matches("fc1.weight", "fc1.weights"));
  CHECK_FALSE(nn::matches("fc1", "fc1.weight"));
  CHECK(nn::matches("*", ""));
  CHECK(nn::matches("*.bias", "a.b.bias"));
  CHECK_FALSE(nn::matches("*.bias", "bias"));
  CHECK(nn::matches("blocks.*.attention.*", "blocks.11.attention.query.weight"));
  CHECK(nn::matches("a*b*c", "abbbc"));
  CHECK_FALSE(nn::matches("a*b*c", "acb"));
}

TEST_CASE("learning rate: a list, a function, and their mistakes") {
  Net net;
  const auto train = [&](nn::LearningRate rate) {
    Model(net, nn::SoftmaxCrossEntropyWithLogits{}, nn::SGD{.learning_rate = std::move(rate)}).train(1, ten());
  };
  const std::string before = named_bits(net);
  CHECK_NOTHROW(train(std::vector<float>{0, 0, 0}));
  CHECK(named_bits(net) == before);
  CHECK_NOTHROW(train([](long step) { return step == 2 ? 0.5 : 0; }));
  CHECK(named_bits(net) != before);
  CHECK_THROWS_WITH_AS(train(std::vector<float>{0.1f, 0.1f}),
                       "The learning rate list has 2 values, step 2 needs one more: make it as long as the training.",
                       ValueError);
  CHECK_THROWS_WITH_AS(train({0.1f, 0.1f}),
                       "The learning rate list has 2 values, step 2 needs one more: make it as long as the training.",
                       ValueError);
  CHECK_NOTHROW(train({0.1, 0.1f, 0}));
  CHECK_THROWS_AS(train([](long step) { return step == 1 ? -1 : 0.1; }), ValueError);
  CHECK_THROWS_AS(nn::LearningRate(-0.1), ValueError);
  CHECK_THROWS_AS(nn::LearningRate{std::numeric_limits<double>::quiet_NaN()}, ValueError);
  CHECK_THROWS_AS(nn::LearningRate{std::numeric_limits<double>::infinity()}, ValueError);
  CHECK_THROWS_AS(nn::LearningRate(std::vector<float>{}), ValueError);
  CHECK_THROWS_AS(nn::LearningRate(std::vector<double>{0.1, -0.1}), ValueError);
}

TEST_CASE("learning rate: a list in braces, and what is none") {
  const nn::SGD listed{.learning_rate = {0.1f, 0.05f}};
  CHECK(listed.learning_rate.length() == 2);
  CHECK(listed.learning_rate.at(1) == 0.05f);
  const nn::SGD mixed{.learning_rate = {1, 0.5, 0.25f},
                      .groups = {{.params = {"fc1.*"}, .learning_rate = {{0.5, 0.25, 0.125}}}}};
  CHECK(mixed.learning_rate.at(0) == 1);
  CHECK(mixed.groups[0].learning_rate->length() == 3);
  const nn::SGD one{.learning_rate = {0.1f}};
  CHECK(one.learning_rate.length() == 0);
  CHECK(one.learning_rate.at(1000) == 0.1f);
  static_assert(!std::is_default_constructible_v<nn::LearningRate>);
  CHECK_THROWS_WITH_AS((nn::LearningRate{0.1, -0.1}), "A learning rate must be a finite number, 0 or more, got -0.1.",
                       ValueError);
}

TEST_CASE("numbers: illegal ones are refused when the Model is made, with their names") {
  Net net;
  const auto make = [&](auto optimizer) { Model(net, nn::SoftmaxCrossEntropyWithLogits{}, optimizer); };
  const float nan = std::numeric_limits<float>::quiet_NaN();
  CHECK_THROWS_WITH_AS(make(nn::Momentum{.learning_rate = 0.1, .momentum = -0.5f}),
                       "Momentum: momentum must be a finite number, 0 or more, got -0.5.", ValueError);
  CHECK_THROWS_AS(make(nn::Momentum{.learning_rate = 0.1, .momentum = nan}), ValueError);
  CHECK_THROWS_WITH_AS(make(nn::Momentum{.learning_rate = 0.1}),
                       "Momentum: momentum is required, but was not given: write nn::Momentum{.learning_rate = 0.01f, "
                       ".momentum = 0.9f}, or nn::SGD to do without.",
                       ValueError);
  CHECK_THROWS_WITH_AS(make(nn::Momentum{.learning_rate = 0.1, .momentum = 0.9f, .weight_decay = -1}),
                       "Momentum: weight_decay must be a finite number, 0 or more, got -1.", ValueError);
  CHECK_THROWS_WITH_AS(make(nn::Momentum{.learning_rate = 0.1, .momentum = 0.9f, .loss_scale = 0}),
                       "Momentum: loss_scale must be a finite number above 0, got 0.", ValueError);
  CHECK_THROWS_AS(make(nn::SGD{.dampening = -1}), ValueError);
  CHECK_THROWS_AS(make(nn::NesterovSGD{.momentum = 0}), ValueError);
  CHECK_THROWS_AS((make(nn::NesterovSGD{.momentum = 0.9f, .dampening = 0.5f})), ValueError);
  CHECK_THROWS_WITH_AS(make(nn::Adam{.beta1 = 1}), "Adam: beta1 must be between 0 and 1, both excluded, got 1.",
                       ValueError);
  CHECK_THROWS_AS(make(nn::Adam{.beta2 = 0}), ValueError);
  CHECK_THROWS_AS(make(nn::Adam{.eps = 0}), ValueError);
  CHECK_THROWS_AS(make(nn::AdamWeightDecay{.beta1 = -0.5f}), ValueError);
  CHECK_THROWS_AS(make(nn::AdamWeightDecay{.eps = nan}), ValueError);
}

TEST_CASE("numbers: illegal ones are refused before the next step, too") {
  Net net;
  Model model(net, nn::SoftmaxCrossEntropyWithLogits{},
              nn::Adam{.learning_rate = 0.01, .groups = {{.params = {"fc2.*"}, .weight_decay = 0.5f}}});
  const auto refused = [&](auto change, const char* what) {
    const nn::Adam before = model.optimizer();
    const std::string weights = bits(net);
    change(model.optimizer());
    CHECK_THROWS_WITH_AS(model.train(1, ten()), doctest::Contains(what), ValueError);
    CHECK(bits(net) == weights);
    model.optimizer() = before;
  };
  model.train(1, ten());
  refused([](auto& adam) { adam.weight_decay = -1; }, "Adam: weight_decay must be a finite number, 0 or more, got -1.");
  refused([](auto& adam) { adam.loss_scale = 0; }, "Adam: loss_scale must be a finite number above 0, got 0.");
  refused([](auto& adam) { adam.beta1 = 1; }, "Adam: beta1 must be between 0 and 1");
  refused([](auto& adam) { adam.groups[0].weight_decay = -2; }, "Adam: weight_decay of a group must be");
  model.train(1, ten());
}

TEST_CASE("optimizer state: moments are named as in MindSpore's checkpoints") {
  Net net;
  Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, nn::Adam{}};
  const auto state = model.optimizer_state();
  REQUIRE(state.size() == 8);
  CHECK(state[0].name == "moment1.fc1.weight");
  CHECK(state[7].name == "moment2.fc2.bias");
  CHECK(shape_text(state[6].tensor.shape()) == "[2, 8]");
  CHECK(state[0].tensor.as<float>()[0] == 0);
  model.train(1, ten());
  CHECK(state[4].tensor.as<float>()[0] >= 0);
  double sum = 0;
  for (const float v : state[6].tensor.as<float>()) sum += v;
  CHECK(sum > 0);
}
