// Gradient clipping: by value, by norm, by global norm; the formulas, both modes, loss scales, what is refused.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include <tenon/nn/loss/mse.hpp>
#include <tenon/nn/optim/accumulate_gradients.hpp>
#include <tenon/nn/optim/adam.hpp>
#include <tenon/nn/optim/clip.hpp>
#include <tenon/nn/optim/lamb.hpp>
#include <tenon/nn/optim/sgd.hpp>
#include <tenon/train/amp.hpp>
#include <tenon/train/checkpoint.hpp>
#include <tenon/train/optimizer_step.hpp>

#include "../../train/small.hpp"

using namespace small;

namespace {
using Values = std::vector<std::vector<double>>;
Values values_of(const auto& net) {
  Values all;
  for (const io::NamedTensor& one : named_parameters(net)) {
    const auto* const data = static_cast<const float*>(one.tensor.data);
    all.emplace_back(data, data + one.tensor.count());
  }
  return all;
}
auto ten_at_once() { return samples(10) | dataset::batch(10); }
nn::SGD plain() { return {.learning_rate = 1.0f}; }

/// The parameters after one step.
template <class N = Net, class O>
Values after_a_step(Mode mode, const O& optimizer) {
  set_context({.mode = mode, .seed = 4});
  N net;
  Model model(net, nn::SoftmaxCrossEntropyWithLogits{}, optimizer);
  model.train(1, ten_at_once());
  return values_of(net);
}
Values before_it() {
  set_context({.seed = 4});
  Net net;
  Model model(net, nn::SoftmaxCrossEntropyWithLogits{}, plain());
  return values_of(net);
}
/// The gradients: with a learning rate of 1 they are what a step takes away.
Values gradients() {
  Values p = before_it();
  const Values q = after_a_step(Mode::graph, plain());
  for (std::size_t i = 0; i < p.size(); ++i)
    for (std::size_t k = 0; k < p[i].size(); ++k) p[i][k] -= q[i][k];
  return p;
}
double norm_of(const std::vector<double>& v) {
  double sum = 0;
  for (const double x : v) sum += x * x;
  return std::sqrt(sum);
}
/// Compares a clipped step with parameters less f(gradient of parameter i)[k].
template <class O, class F>
void check_step(const O& optimizer, F clipped) {
  const Values p = before_it(), g = gradients(), graph = after_a_step(Mode::graph, optimizer),
               pynative = after_a_step(Mode::pynative, optimizer);
  CHECK(graph == pynative);
  for (std::size_t i = 0; i < p.size(); ++i)
    for (std::size_t k = 0; k < p[i].size(); ++k) CHECK(std::fabs(graph[i][k] - (p[i][k] - clipped(g[i], k))) < 3e-7);
}
/// Has a parameter that construct does not use.
struct Idle : nn::Cell<Idle> {
  nn::Dense<3, 2> fc;
  nn::Dense<3, 2> idle;
  constexpr auto construct(auto x) const { return fc(x); }
};
/// Has two parameters with one gradient.
struct TwoBiases : nn::Cell<TwoBiases> {
  nn::Dense<3, 2> a, b;
  constexpr auto construct(auto x) const { return a(x) + b(x * 2); }
};
}  // namespace

TEST_CASE("by global norm: one factor for all") {
  double all = 0;
  for (const auto& g : gradients()) all += norm_of(g) * norm_of(g);
  const double norm = std::sqrt(all), most = norm / 3;
  check_step(nn::ClipByGlobalNorm{plain(), float(most)},
             [&](const std::vector<double>& g, std::size_t k) { return g[k] * most / norm; });
}
TEST_CASE("by norm: a factor for each parameter") {
  const double most = norm_of(gradients()[0]) / 2;
  check_step(nn::ClipByNorm{plain(), float(most)},
             [&](const std::vector<double>& g, std::size_t k) { return g[k] * most / std::max(norm_of(g), most); });
}
TEST_CASE("by value: each element") {
  double largest = 0;
  for (const auto& g : gradients())
    for (const double x : g) largest = std::max(largest, std::fabs(x));
  const double most = largest / 2;
  check_step(nn::ClipByValue{plain(), float(most)},
             [&](const std::vector<double>& g, std::size_t k) { return std::clamp(g[k], -most, most); });
}
TEST_CASE("what is not reached changes no bit") {
  for (const Mode mode : {Mode::graph, Mode::pynative}) {
    const Values unclipped = after_a_step(mode, plain());
    CHECK(after_a_step(mode, nn::ClipByGlobalNorm{plain(), 1e6f}) == unclipped);
    CHECK(after_a_step(mode, nn::ClipByNorm{plain(), 1e6f}) == unclipped);
    CHECK(after_a_step(mode, nn::ClipByValue{plain(), 1e6f}) == unclipped);
  }
}
TEST_CASE("a training with Adam: both modes, one thread and two, equal bits") {
  std::string expected;
  for (const int threads : {1, 2})
    for (const Mode mode : {Mode::graph, Mode::pynative}) {
      set_context({.mode = mode, .num_threads = threads, .seed = 4});
      Net net;
      Model model(net, nn::SoftmaxCrossEntropyWithLogits{},
                  nn::ClipByGlobalNorm{nn::Adam{.learning_rate = 0.01f, .weight_decay = 0.1f}, 0.1f});
      model.train(3, samples(200) | dataset::batch(64));
      if (expected.empty()) expected = bits(net);
      CHECK(bits(net) == expected);
    }
  set_context({.num_threads = 1});
}
TEST_CASE("with a loss scale the unscaled gradients are compared") {
  for (const bool by_value : {false, true}) {
    std::string expected;
    for (const float scale : {1.0f, 1024.0f})
      for (const Mode mode : {Mode::graph, Mode::pynative}) {
        set_context({.mode = mode, .seed = 4});
        Net net;
        const auto train = [&](auto optimizer) {
          Model model(net, nn::SoftmaxCrossEntropyWithLogits{}, optimizer, amp<AmpLevel::O2>,
                      FixedLossScaleManager<true>{.loss_scale = scale});
          model.train(2, ten_at_once());
        };
        if (by_value) train(nn::ClipByValue{plain(), 0.03f});
        else train(nn::ClipByGlobalNorm{plain(), 0.05f});
        if (expected.empty()) expected = bits(net);
        CHECK(bits(net) == expected);  // powers of two leave the bits alone
      }
  }
}
TEST_CASE("a parameter without a gradient") {
  set_context({.seed = 4});
  Idle net;
  net.init_parameters();
  const Values before = values_of(net);
  const auto check = [&](const auto& optimizer) {
    const Values graph = after_a_step<Idle>(Mode::graph, optimizer);
    CHECK(graph == after_a_step<Idle>(Mode::pynative, optimizer));
    CHECK(graph[1] != before[1]);
    CHECK((graph[2] == before[2] && graph[3] == before[3]));
  };
  check(nn::ClipByGlobalNorm{plain(), 0.01f});
  check(nn::ClipByNorm{plain(), 0.01f});
  check(nn::ClipByValue{plain(), 0.01f});
  check(nn::ClipByValue{nn::Lamb{.learning_rate = 0.1f}, 0.01f});
  check(nn::AccumulateGradients{nn::ClipByValue{plain(), 0.01f}, 1});
}
TEST_CASE("a parameter that has a gradient in every second step") {
  set_context({.mode = Mode::pynative, .seed = 4});
  Idle net;
  OptimizerStep step(net, nn::ClipByValue{plain(), 0.25f});
  const auto x = Tensor<float, Shape<dyn, 3>>::full(1, 2);
  for (int k = 0; k < 4; ++k) {
    const Values before = values_of(net);
    if (k % 2)
      step(std::get<1>(value_and_grad([&] { return reduce_sum(net.fc(x)) + reduce_sum(net.idle(x)); }, net)()));
    else step(std::get<1>(value_and_grad([&] { return reduce_sum(net.fc(x)); }, net)()));
    const Values after = values_of(net);
    CHECK(after[1][0] == doctest::Approx(before[1][0] - 0.25));
    if (k % 2) CHECK(after[3][0] == doctest::Approx(before[3][0] - 0.25));
    else CHECK((after[2] == before[2] && after[3] == before[3]));
  }
}
TEST_CASE("frozen parameters do not count, from the step on that they are frozen in") {
  // the gradients of what is not frozen are larger than the bound alone
  const Values g = gradients();
  double rest = 0;
  for (std::size_t i = 1; i < g.size(); ++i) rest += norm_of(g[i]) * norm_of(g[i]);
  const double norm = std::sqrt(rest), most = norm / 3;
  const Values p = before_it();
  for (const Mode mode : {Mode::graph, Mode::pynative}) {
    set_context({.mode = mode, .seed = 4});
    Net net;
    Model model(net, nn::SoftmaxCrossEntropyWithLogits{}, nn::ClipByGlobalNorm{plain(), float(most)});
    const ParameterDict parameters = net.parameters_dict();
    parameters.begin()->second.requires_grad(false);
    model.train(1, ten_at_once());
    const Values after = values_of(net);
    CHECK(after[0] == p[0]);
    for (std::size_t i = 1; i < p.size(); ++i)
      for (std::size_t k = 0; k < p[i].size(); ++k)
        CHECK(std::fabs(after[i][k] - (p[i][k] - g[i][k] * most / norm)) < 3e-7);
    parameters.begin()->second.requires_grad(true);
    model.train(1, ten_at_once());
    CHECK(values_of(net)[0] != p[0]);
  }
}
TEST_CASE("beside a frozen parameter an overflow of 16-bit gradients keeps the updates back") {
  std::string expected;
  for (const Mode mode : {Mode::pynative, Mode::graph}) {
    set_context({.mode = mode, .seed = 4});
    Net net;
    Model model(net, nn::SoftmaxCrossEntropyWithLogits{}, nn::ClipByValue{plain(), 0.03f}, amp<AmpLevel::O2, float16>,
                DynamicLossScaleManager{.init_loss_scale = 0x1p24f, .scale_factor = 2, .scale_window = 100});
    net.parameters_dict().begin()->second.requires_grad(false);
    const std::string before = bits(net);
    model.train(1, ten_at_once());
    CHECK(bits(net) == before);
    model.train(12, ten_at_once());
    CHECK(bits(net) != before);
    if (expected.empty()) expected = bits(net);
    CHECK(bits(net) == expected);
  }
}
TEST_CASE("by global norm: a frozen parameter does not count, also if it has the gradient of another one") {
  std::string expected;
  for (const Mode mode : {Mode::pynative, Mode::graph}) {
    set_context({.mode = mode, .seed = 4});
    TwoBiases net;
    Model model(net, nn::SoftmaxCrossEntropyWithLogits{}, nn::ClipByGlobalNorm{plain(), 0.01f});
    net.a.requires_grad(false);
    model.train(2, ten_at_once());
    if (expected.empty()) expected = bits(net);
    CHECK(bits(net) == expected);
  }
}
TEST_CASE("what is refused") {
  for (const float most : {0.0f, -1.0f, std::numeric_limits<float>::infinity()}) {
    Net net;
    CHECK_THROWS_AS(Model(net, nn::SoftmaxCrossEntropyWithLogits{}, nn::ClipByGlobalNorm{plain(), most}), ValueError);
    CHECK_THROWS_AS(Model(net, nn::SoftmaxCrossEntropyWithLogits{}, nn::ClipByNorm{plain(), most}), ValueError);
    CHECK_THROWS_AS(Model(net, nn::SoftmaxCrossEntropyWithLogits{}, nn::ClipByValue{plain(), most}), ValueError);
  }
}
TEST_CASE("a NaN in a gradient is not hidden") {
  std::vector<float> x(30, 0.5f);
  x[4] = std::numeric_limits<float>::quiet_NaN();
  const auto data =
      dataset::from_arrays(dataset::column<Shape<3>>(x), dataset::column<Shape<>>(std::vector<std::int32_t>(10, 1))) |
      dataset::batch(10);
  for (const Mode mode : {Mode::graph, Mode::pynative}) {
    set_context({.mode = mode, .seed = 4});
    Net net;
    Model model(net, nn::SoftmaxCrossEntropyWithLogits{}, nn::ClipByGlobalNorm{plain(), 0.1f});
    CHECK_THROWS_AS(model.train(1, data), ValueError);  // the loss is NaN
    CHECK(std::isnan(values_of(net)[0][0]));
  }
}

namespace {
struct ThreeWeights : nn::Cell<ThreeWeights> {
  Parameter<float, Shape<3>, nn::Zero{}> weight;
  constexpr auto construct(auto x) const { return x * weight; }
};
/// The weights after a step of rate 1 with the gradient (-2 bad, -200, 0).
template <class O>
std::vector<float> weights_after(Mode mode, const O& optimizer, float bad) {
  const ContextScope scope({.mode = mode});
  ThreeWeights net;
  Model model{net, nn::MSELoss<nn::Reduction::sum>{}, optimizer};
  const std::vector<float> x{1, 1, 1}, y{bad, 100, 0};
  const auto data = dataset::from_arrays(dataset::column<Shape<3>>(x), dataset::column<Shape<3>>(y));
  if (std::isfinite(bad)) model.train(1, data | dataset::batch(1));
  else CHECK_THROWS_AS(model.train(1, data | dataset::batch(1)), Error);
  return {net.weight.values().begin(), net.weight.values().end()};
}
}  // namespace

TEST_CASE("a norm that is NaN makes all gradients NaN, an infinite one finite gradients 0: PyTorch's clip_grad_norm_") {
  const float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  const auto check = [&](const auto& optimizer) {
    for (const Mode mode : {Mode::graph, Mode::pynative}) {
      const auto of_nan = weights_after(mode, optimizer, nan), of_inf = weights_after(mode, optimizer, inf);
      for (const float w : of_nan) CHECK(std::isnan(w));
      CHECK(std::isnan(of_inf[0]));
      CHECK((of_inf[1] == 0 && of_inf[2] == 0));
      CHECK(weights_after(mode, optimizer, 0)[1] == doctest::Approx(1));
    }
  };
  check(nn::ClipByGlobalNorm{plain(), 1.0f});
  check(nn::ClipByNorm{plain(), 1.0f});
}
