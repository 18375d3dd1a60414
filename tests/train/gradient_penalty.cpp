// A network whose loss has a gradient in it: grad inside of a training step, in both modes, against PyTorch's
// create_graph=True.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

#include <tenon/tenon.hpp>

using namespace tenon;

namespace {
struct Critic : nn::Cell<Critic> {
  nn::Dense<2, 2> fc;
  constexpr auto construct(auto x) const { return tanh(fc(x)); }
};
struct Penalized : nn::Cell<Penalized> {
  Critic critic;
  constexpr auto construct(auto x, auto y) const {
    const auto slope = grad([this](auto v) { return reduce_sum(critic(v)); })(x);
    return reduce_mean(ops::square(critic(x) - y)) + reduce_mean(ops::square(slope));
  }
};
/// The penalty in the loss, which gets the network's output: |d sum(p²) / dp|².
struct PenalizedLoss : nn::Cell<PenalizedLoss> {
  constexpr auto construct(auto p, auto y) const {
    const auto slope = grad([](auto v) { return reduce_sum(v * v * v); })(p);
    return reduce_mean(ops::square(p - y)) + reduce_mean(ops::square(slope)) * 0.125f;
  }
};

void set_initial(const Critic& critic) {
  critic.init_parameters();
  const float weight[]{0.5f, -0.25f, 1, 0.75f}, bias[]{0.1f, -0.2f};
  std::copy_n(weight, 4, critic.fc.weight.values().begin());
  std::copy_n(bias, 2, critic.fc.bias.values().begin());
}
std::vector<float> all_of(const Critic& critic) {
  std::vector<float> all(critic.fc.weight.values().begin(), critic.fc.weight.values().end());
  all.insert(all.end(), critic.fc.bias.values().begin(), critic.fc.bias.values().end());
  return all;
}
auto rows(long n) {
  return dataset::from_arrays(dataset::column<Shape<2>>(std::vector<float>{1, 2, -1, 0.5f, 0.25f, -2, 3, 1}),
                              dataset::column<Shape<1>>(std::vector<float>{1, 0, -1, 0.5f})) |
         dataset::batch(n);
}
nn::SGD sgd() { return {.learning_rate = 0.125f}; }

template <class... Options>
std::vector<float> trained(Options... options) {
  Penalized net;
  net.init_parameters();
  set_initial(net.critic);
  Model model{options..., net, NoLoss{}, sgd()};
  model.train(2, rows(4));
  return all_of(net.critic);
}
}  // namespace

TEST_CASE("gradient penalty: PyTorch's weights after two steps, with equal bits in both modes, pinned or not") {
  const float expected[]{0.4232443f, -0.03588981f, 0.98762244f, 0.75748438f, 0.09949975f, -0.23871818f};
  std::vector<float> of_graph;
  {
    const ContextScope scope({.mode = Mode::graph});
    of_graph = trained();
  }
  for (std::size_t i = 0; i < 6; ++i) CHECK(of_graph[i] == doctest::Approx(expected[i]).epsilon(2e-6));
  const ContextScope scope({.mode = Mode::pynative});
  CHECK(trained() == of_graph);
  CHECK(trained(pinned<Mode::pynative>) == of_graph);
}

TEST_CASE("gradient penalty: in the loss, with a last batch of one, and evaluated in either mode") {
  std::vector<float> found[2];
  double loss[2];
  for (const Mode mode : {Mode::graph, Mode::pynative}) {
    const ContextScope scope({.mode = mode});
    Critic critic;
    set_initial(critic);
    Model model{critic, PenalizedLoss{}, sgd(), nn::Loss{}};
    model.train(2, rows(3));
    loss[mode == Mode::graph] = model.eval(rows(3))["loss"];
    found[mode == Mode::graph] = all_of(critic);
  }
  CHECK(found[0] == found[1]);
  CHECK(loss[0] == loss[1]);
  CHECK(loss[0] > 0);
}

TEST_CASE("gradient penalty: a compiled step without a Model has the Model's weights, in both modes") {
  const std::vector<float> expected = trained();
  for (const Mode mode : {Mode::graph, Mode::pynative}) {
    const ContextScope scope({.mode = mode});
    Penalized net;
    net.init_parameters();
    set_initial(net.critic);
    nn::TrainOneStepCell train(net, sgd());
    for (int epoch = 0; epoch < 2; ++epoch)
      for (const auto& [x, y] : rows(4)) CHECK(train(x, y).item() > 0);
    CHECK(all_of(net.critic) == expected);
  }
}
