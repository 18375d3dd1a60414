// TrainOneStepCell with a loss function, and of a part of a network: PyTorch's numbers, the bits of two networks that
// share their parameters, both modes, flags, what is refused.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <algorithm>

#include <tenon/nn/frozen.hpp>
#include <tenon/nn/layer/dropout.hpp>
#include <tenon/nn/layer/norm/batch_norm.hpp>
#include <tenon/nn/loss/mse.hpp>
#include <tenon/nn/optim/adam.hpp>
#include <tenon/nn/optim/sgd.hpp>
#include <tenon/ops/reduce_mean.hpp>
#include <tenon/ops/softplus.hpp>
#include <tenon/ops/tanh.hpp>
#include <tenon/train/train_one_step_cell.hpp>

#include "../support/tensors.hpp"
#include "small.hpp"

using namespace small;
using namespace support;

namespace {
constexpr Mode modes[]{Mode::graph, Mode::pynative};

struct Generator : nn::Cell<Generator> {
  nn::Dense<2, 4> hidden;
  nn::BatchNorm1d<4> norm;
  nn::Dense<4, 3> out;
  constexpr auto construct(auto z) const { return out(tanh(norm(hidden(z)))); }
};
struct Critic : nn::Cell<Critic> {
  nn::Dense<3, 4> hidden;
  nn::Dense<4, 1> out;
  constexpr auto construct(auto x) const { return out(tanh(hidden(x))); }
};
struct Gan : nn::Cell<Gan> {
  Generator generator;
  Critic critic;
};
constexpr auto critic_loss = [](const auto& gan, const auto& real, const auto& z) {
  return reduce_mean(softplus(-gan.critic(real))) + reduce_mean(softplus(gan.critic(gan.generator(z))));
};
constexpr auto generator_loss = [](const auto& gan, const auto& z) {
  return reduce_mean(softplus(-gan.critic(gan.generator(z))));
};

template <long width>
auto numbers(long n, int factor, int modulus, float unit) {
  auto t = Tensor<float, Shape<dyn, width>>::empty(n);
  for (int i = 0; i < int(t.count()); ++i)
    t.data()[i] = static_cast<float>((i * factor) % modulus - modulus / 2) * unit;
  return t;
}
const auto real = numbers<3>(4, 5, 13, 0.25f);
const auto noise = numbers<2>(4, 3, 7, 0.5f);

void fill(int& k, auto&... parameter) {
  const auto one = [&k](std::span<float> values) {
    for (float& v : values) v = static_cast<float>((k++ * 7) % 11 - 5) * 0.125f;
  };
  (one(parameter.values()), ...);
}
void set_initial(Gan& gan) {
  gan.init_parameters();
  int g = 0, c = 3;
  fill(g, gan.generator.hidden.weight, gan.generator.hidden.bias, gan.generator.norm.beta, gan.generator.out.weight,
       gan.generator.out.bias);
  fill(c, gan.critic.hidden.weight, gan.critic.hidden.bias, gan.critic.out.weight, gan.critic.out.bias);
}
void check_values(const auto& parameter, std::initializer_list<float> expected) {
  const auto values = parameter.values();
  REQUIRE(values.size() == expected.size());
  for (std::size_t i = 0; i < values.size(); ++i)
    CHECK(values[i] == doctest::Approx(expected.begin()[i]).epsilon(2e-6));
}
bool equal(const auto& a, const auto& b) { return std::ranges::equal(a, b); }
auto sgd(float learning_rate) { return nn::SGD{.learning_rate = learning_rate}; }
}  // namespace

// The expected numbers are those of torch 2.9.1: nn.Linear and nn.BatchNorm1d, two torch.optim.SGD, of which each does
// zero_grad, backward, and step in turn.
TEST_CASE("the two sides of a GAN: PyTorch's weights and statistics after three rounds, equal bits in both modes") {
  std::string expected;
  for (const Mode mode : modes) {
    set_context({.mode = mode});
    Gan gan;
    set_initial(gan);
    nn::TrainOneStepCell train_critic(gan, gan.critic, sgd(0.25f), critic_loss);
    nn::TrainOneStepCell train_generator(gan, gan.generator, sgd(0.125f), generator_loss);
    const float critic[]{1.34467244f, 1.20521486f, 1.11227739f}, generator[]{0.75902539f, 0.85599196f, 0.93105990f};
    for (int i = 0; i < 3; ++i) {
      CHECK(train_critic(real, noise).item() == doctest::Approx(critic[i]).epsilon(1e-6));
      CHECK(train_generator(noise).item() == doctest::Approx(generator[i]).epsilon(1e-6));
    }
    CHECK(train_critic.optimizer().global_step() == 3);
    const auto& g = gan.generator;
    check_values(g.norm.gamma, {0.98277670f, 1.00614845f, 1.00282633f, 1.00757074f});
    check_values(g.norm.moving_mean, {-0.43160748f, -0.08802232f, 0.09505950f, -0.20343409f});
    check_values(g.norm.moving_variance, {0.92734491f, 0.72808837f, 0.59110748f, 0.73494565f});
    check_values(g.out.bias, {0.40805575f, 0.03708355f, -0.52202296f});
    check_values(gan.critic.hidden.bias, {0.17408275f, -0.42998173f, 0.49258494f, 0.05766929f});
    check_values(gan.critic.out.weight, {-0.72942519f, 0.21385933f, -0.38772964f, -0.59241366f});
    if (expected.empty()) expected = bits(gan);
    CHECK(bits(gan) == expected);
  }
}

TEST_CASE("a step changes the parameters of its part alone; batch norms of the rest take the batch, as in training") {
  for (const Mode mode : modes) {
    set_context({.mode = mode, .seed = 2});
    Gan gan;
    gan.init_parameters();
    const auto all = gan.clone();
    nn::TrainOneStepCell train_critic(gan, gan.critic, nn::Adam{.learning_rate = 0.01f, .weight_decay = 0.1f},
                                      critic_loss);
    train_critic(real, noise);
    for (const auto& [name, parameter] : gan.parameters_dict()) {
      const bool changed = !equal(parameter.values<float>(), all.parameters_dict()[name].values<float>());
      CAPTURE(name);
      CHECK(changed == (name.starts_with("critic.") || name.find("moving") != name.npos));
    }
    CHECK(train_critic.optimizer().optimizer_state().size() == 8);  // two moments of four parameters
  }
}

namespace {
/// The same steps as networks of their own, without a batch norm, which Frozen would make evaluate.
struct Plain : nn::Cell<Plain> {
  nn::Dense<2, 4> hidden;
  nn::Dense<4, 3> out;
  constexpr auto construct(auto z) const { return out(tanh(hidden(z))); }
};
struct PlainGan : nn::Cell<PlainGan> {
  Plain generator;
  Critic critic;
};
struct CriticLoss : nn::Cell<CriticLoss> {
  nn::Frozen<Plain> generator;
  Critic critic;
  constexpr auto construct(auto x, auto z) const { return critic_loss(*this, x, z); }
};
struct GeneratorLoss : nn::Cell<GeneratorLoss> {
  Plain generator;
  nn::Frozen<Critic> critic;
  constexpr auto construct(auto z) const { return generator_loss(*this, z); }
};
}  // namespace

TEST_CASE("the bits of two networks with nn::Frozen and share_parameters") {
  for (const Mode mode : modes) {
    set_context({.mode = mode, .seed = 5});
    const nn::Adam adam{.learning_rate = 0.01f};
    CriticLoss of_critic;
    GeneratorLoss of_generator;
    share_parameters(of_critic, of_generator);
    nn::TrainOneStepCell first(of_critic, adam);
    nn::TrainOneStepCell second(of_generator, adam);
    PlainGan gan;
    nn::TrainOneStepCell train_critic(gan, gan.critic, adam, critic_loss);
    nn::TrainOneStepCell train_generator(gan, gan.generator, adam, generator_loss);
    for (int i = 0; i < 4; ++i) {
      CHECK(same_bits(first(real, noise), train_critic(real, noise)));
      CHECK(same_bits(second(noise), train_generator(noise)));
    }
    CHECK(bits(gan) == bits(of_critic));
  }
}

namespace {
struct Drops : nn::Cell<Drops> {
  nn::Dense<2, 64> first;
  nn::Dropout<> drop;
  nn::Dense<64, 1> second;
};
constexpr auto dropped = [](const auto& net, const auto& z) { return reduce_mean(net.second(net.drop(net.first(z)))); };
}  // namespace

TEST_CASE("steps of two parts draw different random numbers, which are those of both modes and of the next run") {
  std::vector<float> expected;
  for (const Mode mode : {Mode::graph, Mode::pynative, Mode::graph}) {
    set_context({.mode = mode, .seed = 5});
    Drops net;
    net.init_parameters();
    nn::TrainOneStepCell first(net, net.first, sgd(0), dropped);
    nn::TrainOneStepCell second(net, net.second, sgd(0), dropped);
    std::vector<float> losses;
    for (int i = 0; i < 2; ++i) losses.push_back(first(noise).item()), losses.push_back(second(noise).item());
    for (std::size_t i = 0; i < 4; ++i)
      for (std::size_t k = 0; k < i; ++k) CHECK(losses[i] != losses[k]);
    if (expected.empty()) expected = losses;
    CHECK(losses == expected);
  }
}

TEST_CASE("a whole network with a loss function: the bits of a Model with that loss") {
  for (const Mode mode : modes) {
    set_context({.mode = mode, .seed = 5});
    Net net, same;
    Model model(net, nn::SoftmaxCrossEntropyWithLogits{}, nn::Adam{.learning_rate = 0.01f});
    model.train(2, ten());
    nn::TrainOneStepCell train(same, nn::Adam{.learning_rate = 0.01f}, [](const auto& n, const auto& x, const auto& y) {
      return nn::SoftmaxCrossEntropyWithLogits<>{}(n(x), y);
    });
    for (std::uint64_t epoch = 0; epoch < 2; ++epoch)
      for (const auto& [x, y] : dataset::rows(ten(), epoch)) train(x, y);
    CHECK(bits(net) == bits(same));
  }
}

namespace {
struct WithLoss : nn::Cell<WithLoss> {
  Net net;
  constexpr auto construct(auto x, auto y) const { return nn::SoftmaxCrossEntropyWithLogits<>{}(net(x), y); }
};
}  // namespace

TEST_CASE("a part of a network that returns its loss: the bits of a Model for which the rest is frozen") {
  for (const Mode mode : modes) {
    set_context({.mode = mode, .seed = 5});
    WithLoss net, same;
    net.init_parameters();
    net.net.fc1.requires_grad(false);
    Model model(net, NoLoss{}, nn::Adam{.learning_rate = 0.01f});
    model.train(1, ten());
    nn::TrainOneStepCell train(same, same.net.fc2, nn::Adam{.learning_rate = 0.01f});
    for (const auto& [x, y] : dataset::rows(ten(), 0)) train(x, y);
    CHECK(bits(net) == bits(same));
  }
}

TEST_CASE("requires_grad() of the network holds, before the first step and later") {
  for (const Mode mode : modes) {
    set_context({.mode = mode, .seed = 5});
    Gan gan;
    gan.critic.hidden.requires_grad(false);
    nn::TrainOneStepCell train_critic(gan, gan.critic, sgd(0.25f), critic_loss);
    nn::TrainOneStepCell train_generator(gan, gan.generator, sgd(0.25f), generator_loss);
    const auto step = [&] { train_critic(real, noise), train_generator(noise); };
    const auto values = [](const auto& p) { return std::vector<float>(p.values().begin(), p.values().end()); };
    const auto hidden = values(gan.critic.hidden.weight), out = values(gan.critic.out.weight);
    step();
    CHECK(values(gan.critic.hidden.weight) == hidden);
    const auto later = values(gan.critic.out.weight);
    CHECK(later != out);
    gan.critic.hidden.requires_grad(true);
    gan.critic.out.requires_grad(false);
    step();
    CHECK(values(gan.critic.hidden.weight) != hidden);
    CHECK(values(gan.critic.out.weight) == later);
    CHECK(gan.generator.out.weight.requires_grad());
  }
}

TEST_CASE("a network that is assigned to goes on with its new parameters; a part cannot be replaced alone") {
  for (const Mode mode : modes) {
    set_context({.mode = mode, .seed = 5});
    Gan gan, fresh;
    nn::TrainOneStepCell train_critic(gan, gan.critic, sgd(0.25f), critic_loss);
    train_critic(real, noise);
    set_initial(fresh);
    gan = std::move(fresh);
    CHECK(train_critic(real, noise).item() == doctest::Approx(1.34467244).epsilon(1e-6));
    Critic critic;
    critic.init_parameters();
    gan.critic = std::move(critic);
    CHECK_THROWS_AS(train_critic(real, noise), RuntimeError);
  }
}

namespace {
struct Scaled : nn::Cell<Scaled> {
  float factor = 2;
  nn::Dense<3, 1> out;
  constexpr auto construct(auto x) const { return out(x) * factor; }
};
}  // namespace

TEST_CASE("errors: a part of another network, a changed number") {
  Gan gan, other;
  using Step = nn::TrainOneStepCell<Gan, nn::SGD, decltype(critic_loss), Critic>;
  CHECK_THROWS_WITH_AS(Step(gan, other.critic, sgd(0.1f), critic_loss),
                       "TrainOneStepCell: this Critic is no part of this Gan, but of another one: pass a member of the "
                       "network.",
                       ValueError);
  Scaled scaled;
  nn::TrainOneStepCell train(scaled, sgd(0.1f),
                             [](const auto& net, const auto& x) { return reduce_mean(square(net(x))); });
  train(real);
  scaled.factor = 3;
  CHECK_THROWS_AS(train(real), ValueError);
}
