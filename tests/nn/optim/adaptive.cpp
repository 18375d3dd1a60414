// Optimizers of which every element has a step of its own: their rules, first values of their state, refused numbers.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include <tenon/nn/optim/adadelta.hpp>
#include <tenon/nn/optim/adagrad.hpp>
#include <tenon/nn/optim/adamax.hpp>
#include <tenon/nn/optim/asgd.hpp>
#include <tenon/nn/optim/ftrl.hpp>
#include <tenon/nn/optim/proximal_adagrad.hpp>
#include <tenon/nn/optim/rmsprop.hpp>
#include <tenon/nn/optim/rprop.hpp>
#include <tenon/ops/sqrt.hpp>

#include "rule.hpp"

using namespace rules;

namespace {
double sign(double x) { return double(x > 0) - double(x < 0); }

// a: mean square, b: step, c: mean gradient
Rule rmsprop_rule(double decay, double momentum, double epsilon, bool centered) {
  return [=](State& s, double g, double rate, int t) {
    if (t == 1) s.a = 1;
    s.a = decay * s.a + (1 - decay) * g * g;
    s.c = decay * s.c + (1 - decay) * g;
    s.b = momentum * s.b + rate * g / std::sqrt(s.a - (centered ? s.c * s.c : 0) + epsilon);
    s.p -= s.b;
  };
}
Rule adagrad_rule(double accum, bool grows) {
  return [=](State& s, double g, double rate, int t) {
    if (t == 1) s.a = accum;
    if (grows) s.a += g * g;
    s.p -= rate * g / std::sqrt(s.a);
  };
}
Rule proximal_rule(double l1, double l2) {
  return [=](State& s, double g, double rate, int t) {
    if (t == 1) s.a = 0.1f;
    s.a += g * g;
    const double r = rate / std::sqrt(s.a), q = s.p - r * g;
    s.p = sign(q) * std::max(std::fabs(q) - r * l1, 0.0) / (1 + r * l2);
  };
}
Rule adadelta_rule(double rho, double epsilon) {
  return [=](State& s, double g, double rate, int) {
    s.a = rho * s.a + (1 - rho) * g * g;
    const double d = std::sqrt(s.b + epsilon) / std::sqrt(s.a + epsilon) * g;
    s.b = rho * s.b + (1 - rho) * d * d;
    s.p -= rate * d;
  };
}
Rule adamax_rule(double b1, double b2) {
  return [=](State& s, double g, double rate, int t) {
    s.a = b1 * s.a + (1 - b1) * g;
    s.b = std::max(b2 * s.b, std::fabs(g));
    s.p -= rate / (1 - std::pow(b1, t)) * s.a / (s.b + 1e-8f);
  };
}
Rule asgd_rule(double lambd, double alpha) {
  return [=](State& s, double g, double rate, int t) {
    const double e = rate / std::pow(1 + lambd * rate * (t - 1), alpha);
    s.p = (1 - lambd * e) * s.p - e * g;
  };
}
Rule rprop_rule(double shrink, double grow, double smallest, double largest) {
  return [=](State& s, double g, double rate, int t) {
    if (t == 1) s.b = rate;
    const double same = sign(g * s.a);
    s.b = std::clamp(s.b * (same > 0 ? grow : same < 0 ? shrink : 1), smallest, largest);
    s.a = same < 0 ? 0 : g;
    s.p -= sign(s.a) * s.b;
  };
}
Rule ftrl_rule(double power, double l1, double l2) {
  return [=](State& s, double g, double rate, int t) {
    if (t == 1) s.a = 0.1f;
    const double before = std::pow(s.a, -power) / rate;
    s.a += g * g;
    const double now = std::pow(s.a, -power) / rate;
    s.b += g - (now - before) * s.p;
    s.p = std::fabs(s.b) > l1 ? (sign(s.b) * l1 - s.b) / (now + 2 * l2) : 0;
  };
}
}  // namespace

TEST_CASE("rmsprop: its rule, with momentum, centered, decay") {
  check_rule<float>(nn::RMSProp{}, 0, true, rmsprop_rule(0.9f, 0, 1e-10f, false));
  check_rule<float>(nn::RMSProp{.decay = 0.5f, .momentum = 0.75f, .epsilon = 0.125f, .weight_decay = 0.25f}, 0.25, true,
                    rmsprop_rule(0.5, 0.75, 0.125, false));
  check_rule<float>(nn::CenteredRMSProp{.learning_rate = 0.01, .decay = 0.75f, .momentum = 0.5f}, 0, true,
                    rmsprop_rule(0.75, 0.5, 1e-10f, true), 1e-5);
  check_rule<double>(nn::CenteredRMSProp{.learning_rate = 0.125, .decay = 0.75f, .epsilon = 0.125f}, 0, true,
                     rmsprop_rule(0.75, 0, 0.125, true), 1e-13);
  check_rule<float16>(nn::RMSProp{}, 0, true, rmsprop_rule(0.9f, 0, 1e-10f, false), 2e-3);
}

TEST_CASE("rmsprop, centered: gradients that never change give no root of what is below 0") {
  std::vector<float> x;
  for (int i = 0; i < 64 * features; ++i) x.push_back(0.1f + 0.07f * float(i % features));
  const auto data = dataset::from_arrays(dataset::column<Shape<features>>(x)) | dataset::batch(1);
  for (const Mode mode : modes) {
    const ContextScope scope({.mode = mode});
    Linear<float> net;
    Model model{net, NoLoss{}, nn::CenteredRMSProp{.learning_rate = 1e-6, .decay = 0.5f}};
    model.train(1, data);
    for (const float w : net.weight.values()) CHECK(std::isfinite(w));
  }
}

TEST_CASE("adagrad: its rule, and a sum that stays") {
  check_rule<float>(nn::Adagrad{.learning_rate = 0.1}, 0, true, adagrad_rule(0.1f, true));
  check_rule<float>(nn::Adagrad{.accum = 0.5f, .learning_rate = 0.1, .update_slots = false, .weight_decay = 0.25f},
                    0.25, true, adagrad_rule(0.5, false));
  check_rule<double>(nn::Adagrad{.accum = 0.5f, .learning_rate = 0.125}, 0, true, adagrad_rule(0.5, true), 1e-13);
  check_rule<bfloat16>(nn::Adagrad{.learning_rate = 0.1}, 0, true, adagrad_rule(0.1f, true), 2e-2);
  check_rule<float>(nn::Adagrad{.learning_rate = 0.1, .loss_scale = 4}, 0, true,
                    [](State& s, double g, double rate, int t) { adagrad_rule(0.1f, true)(s, g / 4, rate, t); });
}

TEST_CASE("proximal adagrad: its rule, with l1, l2, decay") {
  check_rule<float>(nn::ProximalAdagrad{.learning_rate = 0.1}, 0, true, proximal_rule(0, 0));
  check_rule<float>(nn::ProximalAdagrad{.learning_rate = 0.1, .l1 = 0.5f, .l2 = 0.25f, .weight_decay = 0.25f}, 0.25,
                    true, proximal_rule(0.5, 0.25));
  check_rule<double>(nn::ProximalAdagrad{.learning_rate = 0.125, .l1 = 0.5f, .l2 = 0.25f}, 0, true,
                     proximal_rule(0.5, 0.25), 1e-13);
}

TEST_CASE("adadelta, adamax: their rules") {
  check_rule<float>(nn::Adadelta{}, 0, true, adadelta_rule(0.9f, 1e-6f));
  check_rule<float>(nn::Adadelta{.rho = 0.5f, .epsilon = 0.125f, .weight_decay = 0.25f}, 0.25, true,
                    adadelta_rule(0.5, 0.125));
  check_rule<double>(nn::Adadelta{.rho = 0.5f, .epsilon = 0.125f}, 0, true, adadelta_rule(0.5, 0.125), 1e-13);
  check_rule<float>(nn::AdaMax{.learning_rate = 0.1}, 0, true, adamax_rule(0.9f, 0.999f));
  check_rule<float>(nn::AdaMax{.learning_rate = 0.1, .beta2 = 0.25f, .weight_decay = 0.25f}, 0.25, true,
                    adamax_rule(0.9f, 0.25));
  check_rule<float16>(nn::AdaMax{.learning_rate = 0.1}, 0, true, adamax_rule(0.9f, 0.999f), 2e-3);
}

TEST_CASE("asgd: its rule, and the average from step t0 on") {
  check_rule<float>(nn::ASGD{}, 0, true, asgd_rule(1e-4f, 0.75));
  check_rule<float>(nn::ASGD{.lambd = 0.5f, .alpha = 2, .weight_decay = 0.25f}, 0.25, true, asgd_rule(0.5, 2));
  for (const Mode mode : modes) {
    const ContextScope scope({.mode = mode});
    Linear<float> net;
    Model model{net, NoLoss{}, nn::ASGD{.learning_rate = 0.5, .lambd = 0, .t0 = 1}};
    struct Weights {
      const Linear<float>& net;
      std::vector<float> first{};
      void step_end(RunInfo&) { first.push_back(net.weight.values()[0]); }
    } weights{net};
    model.train(1, rows<float>(), weights);
    const auto state = model.optimizer_state();
    CHECK(state[0].name == "ax_.weight");
    // of four steps the shares are 1, 1, 1, 1/2
    const auto& w = weights.first;
    CHECK(state[0].tensor.as<float>()[0] == w[2] + (w[3] - w[2]) / 2);
  }
}

TEST_CASE("rprop: its rule, limits of a step") {
  check_rule<float>(nn::Rprop{}, 0, true, rprop_rule(0.5, 1.2f, 1e-6f, 50));
  check_rule<float>(
      nn::Rprop{.learning_rate = 0.5, .etas = {0.25f, 2}, .step_sizes = {0.25f, 0.75f}, .weight_decay = 0.25f}, 0.25,
      true, rprop_rule(0.25, 2, 0.25, 0.75));
  check_rule<double>(nn::Rprop{.learning_rate = 0.125}, 0, true, rprop_rule(0.5, 1.2f, 1e-6f, 50), 1e-13);
}

TEST_CASE("ftrl: its rule, with l1, l2, and another power") {
  check_rule<float>(nn::FTRL{.learning_rate = 0.1}, 0, true, ftrl_rule(-0.5, 0, 0), 2e-6);
  check_rule<float>(nn::FTRL{.learning_rate = 0.25, .l1 = 0.5f, .l2 = 0.25f, .weight_decay = 0.25f}, 0.25, true,
                    ftrl_rule(-0.5, 0.5, 0.25), 2e-6);
  check_rule<float>(nn::FTRL{.learning_rate = 0.25, .lr_power = -0.75f, .l1 = 0.5f}, 0, true, ftrl_rule(-0.75, 0.5, 0),
                    2e-6);
  check_rule<double>(nn::FTRL{.learning_rate = 0.125, .lr_power = -0.25f}, 0, true, ftrl_rule(-0.25, 0, 0), 1e-13);
}

namespace {
/// The roots of x * weight: where both are 0, the loss is finite, and the gradient is NaN, 0 times infinity.
struct Roots : nn::Cell<Roots> {
  Parameter<float, Shape<features>, nn::One{}> weight;
  constexpr auto construct(auto x) const { return ops::reduce_sum(ops::sqrt(ops::mul(x, weight))); }
};
}  // namespace

TEST_CASE("adaptive optimizers: a NaN in a gradient is a NaN in the parameter, and does not reach its neighbours") {
  std::vector<float> x(features, 0.5f);
  x[1] = x[features - 1] = 0;
  const auto data = dataset::from_arrays(dataset::column<Shape<features>>(x)) | dataset::batch(1);
  const auto look = [&](auto optimizer) {
    CAPTURE(optimizer.name);
    Roots net;
    Model model{net, NoLoss{}, optimizer};
    net.weight.values()[1] = net.weight.values()[features - 1] = 0;
    model.train(1, data);
    for (int i = 0; i < features; ++i)
      CHECK(std::isnan(net.weight.values()[std::size_t(i)]) == (i == 1 || i == features - 1));
  };
  look(nn::RMSProp{});
  look(nn::CenteredRMSProp{});
  look(nn::Adagrad{});
  look(nn::ProximalAdagrad{.l1 = 0.5f});
  look(nn::Adadelta{});
  look(nn::AdaMax{});
  look(nn::ASGD{});
  look(nn::Rprop{});
  look(nn::FTRL{.l1 = 0.5f});
}

TEST_CASE("optimizer state: what it is before the first step, and that it is an optimizer's own") {
  Net net;
  const auto first = [&](auto optimizer) {
    Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, optimizer};
    std::string text;
    for (const auto& [name, tensor] : model.optimizer_state())
      if (name.ends_with("fc2.bias")) {
        CHECK(tensor.template as<float>()[0] == tensor.template as<float>()[1]);
        text += name + " " + std::to_string(tensor.template as<float>()[0]).substr(0, 4) + " ";
      }
    return text;
  };
  CHECK(first(nn::CenteredRMSProp{}) == "mean_square.fc2.bias 1.00 moment.fc2.bias 0.00 mean_grad.fc2.bias 0.00 ");
  CHECK(first(nn::Adagrad{.accum = 0.25f}) == "accum.fc2.bias 0.25 ");
  CHECK(first(nn::FTRL{.initial_accum = 0.5f}) == "moments.fc2.bias 0.50 linear.fc2.bias 0.00 ");
  CHECK(first(nn::Rprop{}) == "prev.fc2.bias 0.00 step_size.fc2.bias 0.00 ");
}

TEST_CASE("rprop: a parameter that was frozen at first starts with the learning rate, in both modes") {
  for (const Mode mode : {Mode::graph, Mode::pynative}) {
    set_context({.mode = mode, .seed = 3});
    Net net;
    Model model(net, nn::SoftmaxCrossEntropyWithLogits{}, nn::Rprop{.learning_rate = 0.125});
    net.fc1.requires_grad(false);
    model.train(2, ten());
    net.fc1.requires_grad(true);
    const float before = net.fc1.bias.values()[0];
    model.train(1, ten() | dataset::take(1));
    const float moved = net.fc1.bias.values()[0] - before;
    CHECK((moved == 0 || std::fabs(std::fabs(moved) - 0.125f) < 1e-6f));
    float most = 0;
    for (const io::NamedTensor& one : model.optimizer_state())
      if (one.name == "step_size.fc1.weight")
        for (const float size : one.tensor.as<float>()) most = std::fmax(most, size);
    CHECK(most == 0.125f);
  }
}

TEST_CASE("optimizer state: that of 16-bit parameters and of float64 starts with its values, too") {
  const auto first = [](auto zero) {
    using T = decltype(zero);
    Linear<T> net;
    Model model{net, NoLoss{}, nn::RMSProp{}};
    return static_cast<double>(model.optimizer_state()[0].tensor.template as<T>()[features - 1]);
  };
  CHECK(first(float16()) == 1);
  CHECK(first(bfloat16()) == 1);
  CHECK(first(0.0) == 1);
}

TEST_CASE("adaptive optimizers: illegal numbers are refused when the Model is made") {
  Net net;
  const auto make = [&](auto optimizer) { Model(net, nn::SoftmaxCrossEntropyWithLogits{}, optimizer); };
  const float nan = std::numeric_limits<float>::quiet_NaN();
  CHECK_THROWS_WITH_AS(make(nn::RMSProp{.decay = 1}), "RMSProp: decay must be 0 or more and below 1, got 1.",
                       ValueError);
  CHECK_THROWS_AS(make(nn::RMSProp{.momentum = -1}), ValueError);
  CHECK_THROWS_AS(make(nn::CenteredRMSProp{.epsilon = 0}), ValueError);
  CHECK_THROWS_WITH_AS(make(nn::Adagrad{.accum = 0}), "Adagrad: accum must be a finite number above 0, got 0.",
                       ValueError);
  CHECK_THROWS_AS(make(nn::ProximalAdagrad{.accum = nan}), ValueError);
  CHECK_THROWS_AS(make(nn::ProximalAdagrad{.l1 = -1}), ValueError);
  CHECK_THROWS_AS(make(nn::ProximalAdagrad{.l2 = -1}), ValueError);
  CHECK_THROWS_AS(make(nn::Adadelta{.rho = -0.5f}), ValueError);
  CHECK_THROWS_AS(make(nn::Adadelta{.epsilon = 0}), ValueError);
  CHECK_THROWS_AS(make(nn::AdaMax{.beta1 = 1}), ValueError);
  CHECK_THROWS_AS(make(nn::AdaMax{.beta2 = 0}), ValueError);
  CHECK_THROWS_AS(make(nn::AdaMax{.eps = nan}), ValueError);
  CHECK_THROWS_AS(make(nn::ASGD{.lambd = -1}), ValueError);
  CHECK_THROWS_AS(make(nn::ASGD{.alpha = nan}), ValueError);
  CHECK_THROWS_AS(make(nn::ASGD{.t0 = -1}), ValueError);
  CHECK_THROWS_WITH_AS(make(nn::Rprop{.etas = {0.5f, 1}}), "Rprop: etas[1] must be above 1, or no step grows, got 1.",
                       ValueError);
  CHECK_THROWS_AS(make(nn::Rprop{.etas = {1, 1.5f}}), ValueError);
  CHECK_THROWS_WITH_AS(make(nn::Rprop{.step_sizes = {2, 1}}),
                       "Rprop: step_sizes are the smallest and the largest, got 2 and 1.", ValueError);
  CHECK_THROWS_AS(make(nn::FTRL{.initial_accum = -1}), ValueError);
  CHECK_THROWS_AS(make(nn::FTRL{.lr_power = 0.5f}), ValueError);
  CHECK_THROWS_AS(make(nn::FTRL{.l1 = nan}), ValueError);
  CHECK_THROWS_AS(make(nn::FTRL{.l2 = -1}), ValueError);
  CHECK_THROWS_WITH_AS(Model(net, nn::SoftmaxCrossEntropyWithLogits{}, nn::FTRL{.learning_rate = 0}).train(1, ten()),
                       "FTRL: learning_rate must be a finite number above 0, got 0.", ValueError);
}
