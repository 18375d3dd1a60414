// Loops of the user's own: the bits of a Model, both modes, several networks, what is refused.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <tenon/nn/layer/dropout.hpp>
#include <tenon/nn/optim/accumulate_gradients.hpp>
#include <tenon/nn/optim/adam.hpp>
#include <tenon/nn/optim/sgd.hpp>
#include <tenon/ops/clip.hpp>
#include <tenon/train/train_one_step_cell.hpp>

#include "small.hpp"

using namespace small;

namespace {
nn::Adam adam() { return {.learning_rate = 0.01f, .weight_decay = 0.1f}; }

/// One of the usual steps.
constexpr auto usual_step = [](const auto& net, auto& optimizer, const auto& x, const auto& y) {
  const auto [loss, gradients] =
      value_and_grad([&] { return nn::SoftmaxCrossEntropyWithLogits<>{}(net(x), y); }, net)();
  optimizer(gradients);
  return loss;
};
struct WithDropout : nn::Cell<WithDropout> {
  nn::Dense<3, 8> fc1;
  nn::Dropout<nn::DropoutConfig{.p = 0.25f}> drop;
  nn::Dense<8, 2> fc2;
  constexpr auto construct(auto x) const { return fc2(drop(relu(fc1(x)))); }
};
struct Squared : nn::Cell<Squared> {
  nn::Dense<3, 1> fc;
  constexpr auto construct(auto x) const { return reduce_mean(fc(x) * fc(x)); }
};

/// Calls f with the tensors of each batch.
template <class F>
void each_batch(long samples_wanted, long size, F f) {
  const auto data = samples(samples_wanted) | dataset::batch(size);
  auto rows = data.open();
  rows.start(0);
  while (const auto* row = rows.next()) {
    auto x = Tensor<float, Shape<dyn, 3>>::empty(row->n);
    auto y = Tensor<std::int32_t, Shape<dyn>>::empty(row->n);
    std::memcpy(x.data(), row->column[0], std::size_t(row->n) * 12);
    std::memcpy(y.data(), row->column[1], std::size_t(row->n) * 4);
    f(x, y);
  }
}
/// The parameters after a few compiled steps.
template <class N, class O, class F>
std::string looped(Mode mode, const O& optimizer, F step_function) {
  set_context({.mode = mode, .seed = 4});
  N net;
  OptimizerStep updates(net, optimizer);
  const auto step = jit(step_function, net, updates);
  each_batch(40, 8, [&](const auto& x, const auto& y) { step(x, y); });
  CHECK(updates.global_step() == 5);
  return bits(net);
}
template <class N, class O>
std::string modelled(const O& optimizer) {
  set_context({.mode = Mode::graph, .seed = 4});
  N net;
  Model model(net, nn::SoftmaxCrossEntropyWithLogits{}, optimizer);
  model.train(1, samples(40) | dataset::batch(8));
  return bits(net);
}
}  // namespace

TEST_CASE("a loop of steps gives the bits of a Model, in both modes") {
  const auto check = []<class N>(N, const auto& optimizer) {
    const std::string expected = modelled<N>(optimizer);
    CHECK(looped<N>(Mode::graph, optimizer, usual_step) == expected);
    CHECK(looped<N>(Mode::pynative, optimizer, usual_step) == expected);
  };
  check(Net(), adam());
  check(WithDropout(), nn::Momentum{.learning_rate = 0.1f, .momentum = 0.9f});
  check(Net(), nn::AccumulateGradients{nn::ClipByGlobalNorm{adam(), 0.1f}, 2});
}
TEST_CASE("without jit: operator by operator, the optimizer as a function of gradients") {
  const std::string expected = modelled<Net>(adam());
  for (const Mode mode : {Mode::graph, Mode::pynative}) {
    set_context({.mode = mode, .seed = 4});
    Net net;
    OptimizerStep optimizer(net, adam());
    net.set_train();
    each_batch(40, 8, [&](const auto& x, const auto& y) { usual_step(net, optimizer, x, y); });
    CHECK(bits(net) == expected);
  }
}
namespace {
/// Returns its loss.
struct WithLoss : nn::Cell<WithLoss> {
  Net net;
  constexpr auto construct(auto x, auto y) const { return nn::SoftmaxCrossEntropyWithLogits<>{}(net(x), y); }
};
}  // namespace

TEST_CASE("TrainOneStepCell: the same loop, and the loss before the update") {
  for (const Mode mode : {Mode::graph, Mode::pynative}) {
    const std::string expected = looped<WithLoss>(mode, adam(), [](const auto& net, auto& optimizer, const auto&... x) {
      const auto [loss, gradients] = value_and_grad([&] { return net(x...); }, net)();
      optimizer(gradients);
      return loss;
    });
    set_context({.mode = mode, .seed = 4});
    WithLoss net;
    nn::TrainOneStepCell train(net, adam());
    each_batch(40, 8, [&](const auto& x, const auto& y) {
      const float before = net(x, y).item();
      CHECK(train(x, y).item() == before);
      CHECK(net(x, y).item() != before);
    });
    CHECK(train.optimizer().global_step() == 5);
    CHECK(bits(net) == expected);
  }
}

TEST_CASE("gradients may be changed on their way") {
  constexpr auto doubled = [](const auto& net, auto& optimizer, const auto& x, const auto& y) {
    const auto [loss, gradients] =
        value_and_grad([&] { return nn::SoftmaxCrossEntropyWithLogits<>{}(net(x), y); }, net)();
    optimizer(gradients.map([](const auto& g) { return g * 2.0f; }));
    return std::tuple(loss, ops::reduce_sum(gradients(net.fc1.weight)));
  };
  const nn::SGD whole{.learning_rate = 0.5f}, half{.learning_rate = 0.25f};
  const std::string expected = modelled<Net>(whole);
  CHECK(looped<Net>(Mode::graph, half, doubled) == expected);
  CHECK(looped<Net>(Mode::pynative, half, doubled) == expected);
}
TEST_CASE("frozen parameters stay until they are trained again") {
  for (const Mode mode : {Mode::graph, Mode::pynative}) {
    set_context({.mode = mode, .seed = 4});
    Net net;
    OptimizerStep optimizer(net, adam());
    const auto step = jit(usual_step, net, optimizer);
    const float first = net.fc1.weight.values()[0], second = net.fc2.weight.values()[0];
    net.fc1.requires_grad(false);
    each_batch(8, 8, [&](const auto& x, const auto& y) { step(x, y); });
    CHECK(net.fc1.weight.values()[0] == first);
    CHECK(net.fc2.weight.values()[0] != second);
    net.fc1.requires_grad(true);
    each_batch(8, 8, [&](const auto& x, const auto& y) { step(x, y); });
    CHECK(net.fc1.weight.values()[0] != first);
  }
}
TEST_CASE("two optimizers, each for a part of a network") {
  std::string expected;
  for (const Mode mode : {Mode::graph, Mode::pynative}) {
    set_context({.mode = mode, .seed = 4});
    Net net;
    OptimizerStep first(net.fc1, nn::SGD{.learning_rate = 0.5f});
    OptimizerStep second(net.fc2, adam());
    each_batch(16, 8, [&](const auto& x, const auto& y) {
      const auto loss = [&] { return nn::SoftmaxCrossEntropyWithLogits<>{}(net(x), y); };
      first(std::get<1>(value_and_grad(loss, net.fc1)()));
      second(std::get<1>(value_and_grad(loss, net.fc2)()));
    });
    if (expected.empty()) expected = bits(net);
    CHECK(bits(net) == expected);
  }
}
TEST_CASE("a network that a program holds as const trains as another") {
  set_context({.mode = Mode::graph, .seed = 4});
  const auto trained = [](auto& net) {
    OptimizerStep optimizer(net, adam());
    const auto step = jit(usual_step, net, optimizer);
    each_batch(16, 8, [&](const auto& x, const auto& y) { step(x, y); });
    return bits(net);
  };
  const Net held;
  Net net;
  CHECK(trained(held) == trained(net));

  const Squared squared;
  nn::TrainOneStepCell train(squared, adam());
  const auto x = Tensor<float, Shape<dyn, 3>>::ones(2);
  const float first = train(x).item();
  CHECK(train(x).item() < first);
}
TEST_CASE("what is refused") {
  Net net, other;
  OptimizerStep optimizer(net, adam());
  CHECK_THROWS_WITH_AS(jit(usual_step, other, optimizer),
                       "jit: the optimizer belongs to another network of the same type.", ValueError);
  CHECK_THROWS_AS(OptimizerStep(net, nn::SGD{.learning_rate = 0.1f, .weight_decay = -1}), ValueError);
}
