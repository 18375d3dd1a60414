// Networks with shared parameters: two forms of a model, what one trains and the other leaves alone, what is refused.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <memory>

#include <tenon/nn/frozen.hpp>
#include <tenon/nn/layer/dropout.hpp>
#include <tenon/nn/optim/adam.hpp>
#include <tenon/nn/share_parameters.hpp>
#include <tenon/ops/reduce_mean.hpp>
#include <tenon/ops/softplus.hpp>
#include <tenon/ops/tanh.hpp>

#include "../support/tensors.hpp"
#include "../train/small.hpp"

using namespace small;
using namespace support;

namespace {
/// The same members, of which construct makes another use.
struct Probabilities : nn::Cell<Probabilities> {
  nn::Dense<3, 8> fc1;
  nn::Dense<8, 2> fc2;
  constexpr auto construct(auto x) const { return tanh(fc2(relu(fc1(x)))); }
};
struct Generator : nn::Cell<Generator> {
  nn::Dense<2, 6> hidden;
  nn::Dense<6, 3> out;
  constexpr auto construct(auto z) const { return out(tanh(hidden(z))); }
};
struct Critic : nn::Cell<Critic> {
  nn::Dense<3, 6> hidden;
  nn::Dense<6, 1> out;
  constexpr auto construct(auto x) const { return out(tanh(hidden(x))); }
};
struct CriticLoss : nn::Cell<CriticLoss> {
  nn::Frozen<Generator> generator;
  Critic critic;
  constexpr auto construct(auto real, auto z) const {
    return reduce_mean(softplus(-critic(real))) + reduce_mean(softplus(critic(generator(z))));
  }
};
struct GeneratorLoss : nn::Cell<GeneratorLoss> {
  Generator generator;
  nn::Frozen<Critic> critic;
  constexpr auto construct(auto, auto z) const { return reduce_mean(softplus(-critic(generator(z)))); }
};
auto pairs() {
  std::vector<float> real, noise;
  Random random(3);
  for (int i = 0; i < 40 * 3; ++i) real.push_back(random.uniform(0, 1));
  for (int i = 0; i < 40 * 2; ++i) noise.push_back(random.uniform(-1, 1));
  return dataset::from_arrays(dataset::column<Shape<3>>(real), dataset::column<Shape<2>>(noise)) | dataset::batch(8);
}
template <class T>
std::vector<float> values(const T& parameter) {
  const auto all = parameter.values();
  return {all.begin(), all.end()};
}
}  // namespace

TEST_CASE("two forms of a model: what one trains the other one computes with, in both modes") {
  for (const Mode mode : {Mode::graph, Mode::pynative}) {
    set_context({.mode = mode, .seed = 4});
    Net net;
    Probabilities form;
    form.init_parameters();
    share_parameters(net, form);
    const auto x = Tensor<float, Shape<dyn, 3>>::ones(2);
    const auto agree = [&] { return same_bits(Tensor<float, Shape<dyn, 2>>(tanh(net(x))), form(x)); };
    CHECK(agree());
    const auto before = form(x).copy();
    Model model(net, nn::SoftmaxCrossEntropyWithLogits{}, nn::Momentum{.learning_rate = 0.1f, .momentum = 0.9f});
    model.train(1, ten());
    CHECK(agree());
    CHECK_FALSE(same_bits(before, form(x)));
    Model other(form, nn::SoftmaxCrossEntropyWithLogits{}, nn::Momentum{.learning_rate = 0.1f, .momentum = 0.9f});
    other.train(1, ten());
    CHECK(agree());
    const auto apart = form.clone();
    model.train(1, ten());
    CHECK_FALSE(same_bits(apart(x), form(x)));
  }
}
TEST_CASE("what is frozen in one network is trained in the other") {
  std::string expected;
  for (const Mode mode : {Mode::graph, Mode::pynative}) {
    set_context({.mode = mode, .seed = 4});
    CriticLoss critic_loss;
    GeneratorLoss generator_loss;
    share_parameters(critic_loss, generator_loss);
    const nn::Adam adam{.learning_rate = 0.01f};
    Model critic(critic_loss, NoLoss{}, adam);
    Model generator(generator_loss, NoLoss{}, adam);
    const auto g = values(critic_loss.generator.cell.out.weight), c = values(critic_loss.critic.out.weight);
    critic.train(1, pairs());
    CHECK(values(critic_loss.generator.cell.out.weight) == g);
    const auto c2 = values(critic_loss.critic.out.weight);
    CHECK(c2 != c);
    generator.train(1, pairs());
    CHECK(values(critic_loss.generator.cell.out.weight) != g);
    CHECK(values(critic_loss.critic.out.weight) == c2);
    if (expected.empty()) expected = bits(critic_loss);
    CHECK(bits(critic_loss) == expected);
    CHECK(bits(generator_loss) == expected);
  }
}
TEST_CASE("the parameters live as long as one of the networks") {
  auto net = std::make_unique<Net>();
  Probabilities form;
  share_parameters(*net, form);
  const auto x = Tensor<float, Shape<dyn, 3>>::ones(2);
  const auto before = form(x).copy();
  net.reset();
  CHECK(same_bits(before, form(x)));
}

namespace {
struct Wide : nn::Cell<Wide> {
  nn::Dense<3, 9> fc1;
  nn::Dense<9, 2> fc2;
  constexpr auto construct(auto x) const { return fc2(relu(fc1(x))); }
};
struct Turned : nn::Cell<Turned> {
  nn::Dense<8, 2> fc2;
  nn::Dense<3, 8> fc1;
  constexpr auto construct(auto x) const { return fc2(relu(fc1(x))); }
};
struct Named : nn::Cell<Named> {
  nn::Dense<3, 8> fc1;
  nn::Dense<8, 2> fc3;
  constexpr auto construct(auto x) const { return fc3(relu(fc1(x))); }
};
/// Has more behind, which the other form does without.
struct Longer : nn::Cell<Longer> {
  nn::Dense<3, 8> fc1;
  nn::Dense<8, 2> fc2;
  nn::Dense<8, 4> more;
  constexpr auto construct(auto x) const { return more(relu(fc1(x))); }
};
}  // namespace
TEST_CASE("what fits, and what is refused") {
  Net net;
  Longer longer;
  share_parameters(longer, net);
  CHECK(net.fc1.weight.values().data() == longer.fc1.weight.values().data());
  Wide wide;
  CHECK_THROWS_WITH_AS(share_parameters(net, wide), doctest::Contains("'fc1.weight'"), ValueError);
  Turned turned;
  CHECK_THROWS_WITH_AS(share_parameters(net, turned), doctest::Contains("the same members in the same order"),
                       ValueError);
  Named named;
  CHECK_THROWS_WITH_AS(share_parameters(net, named),
                       doctest::Contains("has no parameter 'fc3.weight'. Did you mean 'fc"), KeyError);
}
TEST_CASE("a part that was shared alone, or assigned, is refused instead of losing its sharing") {
  const char* const reason = "is shared with another network, but other parameters of this one are not";
  CriticLoss critic_loss;
  GeneratorLoss generator_loss;
  share_parameters(critic_loss.critic, generator_loss.critic);
  const nn::Adam adam{.learning_rate = 0.01f};
  CHECK_THROWS_WITH_AS(Model(generator_loss, NoLoss{}, adam), doctest::Contains("'critic.hidden.weight' is shared"),
                       RuntimeError);
  CHECK_THROWS_WITH_AS(critic_loss.init_parameters(), doctest::Contains(reason), RuntimeError);
  CHECK(critic_loss.critic.out.weight.values().data() == generator_loss.critic.cell.out.weight.values().data());
  Net net, form;
  share_parameters(net, form);
  auto apart = net.clone();
  net.fc1 = {};
  CHECK_THROWS_WITH_AS(net.init_parameters(), doctest::Contains(reason), RuntimeError);
  apart.fc1 = {};
  apart.init_parameters();
  net = {};
  net.init_parameters();
  CHECK(net.fc1.weight.values().data() != form.fc1.weight.values().data());
}
