// Dropout as a cell: masks per cell, call, step, and seed; equal bits in both modes; the rate as a run-time number.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <cmath>

#include "../support.hpp"

#include <tenon/nn/layer/dropout.hpp>
#include <tenon/ops/full_like.hpp>
#include <tenon/ops/mul.hpp>
#include <tenon/ops/reduce_mean.hpp>

using namespace cells;
using support::random_tensor;
using support::same_bits;

namespace {

using X = Tensor<float, Shape<dyn, 64>>;

struct Net : nn::Cell<Net> {
  nn::Dense<12, 40> fc1;
  nn::Dropout<nn::DropoutConfig{.p = 0.3f}> first;
  nn::Dense<40, 40> fc2;
  nn::Dropout<> second;
  nn::Dense<40, 3> fc3;
  constexpr auto construct(auto x) const { return fc3(second(relu(fc2(first(relu(fc1(x))))))); }
};
struct OneCellTwice : nn::Cell<OneCellTwice> {
  nn::Dense<12, 20> fc1;
  nn::Dropout<> drop;
  nn::Dense<20, 3> fc2;
  constexpr auto construct(auto x) const {
    const auto h = relu(fc1(x));
    return fc2(drop(h) + drop(drop(h)));
  }
};
// A loss that draws: it is no member of the network, its calls count as those of the network.
struct NoisyLoss : nn::Cell<NoisyLoss> {
  constexpr auto construct(auto prediction, auto label) const {
    return softmax_cross_entropy(dropout(prediction, full_like(prediction, 0.25).mean()), label).mean();
  }
};
// What two cells, and two calls of one of them, make of the same input.
struct Masks : nn::Cell<Masks> {
  nn::Dropout<> a, b;
  constexpr auto construct(auto x) const { return a(x) * 100 + b(x) * 10 + a(x); }
};

// Calls that differ in the sum, in one expression.
struct Weighted : nn::Cell<Weighted> {
  Parameter<float, Shape<64>, nn::One{}> weight;
  nn::Dropout<> drop;
  constexpr auto construct(auto x) const {
    const auto v = x * weight;
    return drop(v) + 4.0f * drop(v);
  }
};
// The first output of every step.
struct Outputs {
  std::vector<X> value;
  void step_end(RunInfo& run) {
    value.push_back(X::empty(4));
    std::memcpy(value.back().data(), run.net_outputs[0].data, run.net_outputs[0].bytes());
  }
};

double agreement(const X& a, const X& b) {
  double same = 0;
  for (long i = 0; i < a.count(); ++i) same += a.data()[i] == b.data()[i];
  return same / double(a.count());
}

}  // namespace

TEST_CASE("Dropout: several steps of training give equal bits in both modes, and the loss falls") {
  check_training<Net, Shape<12>>(30);
  check_training<OneCellTwice, Shape<12>>(30);
}

TEST_CASE("Dropout: a loss that draws gives equal bits in both modes") {
  const auto train = [](Mode mode) {
    const ContextScope scope({.mode = mode});
    OneCellTwice net;
    Model model{net, NoisyLoss{}, momentum()};
    model.train(3, samples<Shape<12>>(28) | dataset::batch(8));
    return bits(net);
  };
  CHECK(train(Mode::graph) == train(Mode::pynative));
}

TEST_CASE("Dropout: the masks of a training are those of path, call, seed, and step, in one expression, too") {
  const std::uint64_t path = hash_number(hash_bytes("drop", 4), hash_number(hash_bytes("network", 7), 0));
  const auto mask = [&](std::uint64_t call, std::uint64_t step) {
    auto state = Tensor<std::uint64_t, Shape<2>>::empty();
    state.data()[0] = 9, state.data()[1] = step;
    return apply_with<ops::Dropout>({}, hash_number(call, path), X::full(1, 4), Tensor<float, Shape<>>::full(0.5f),
                                    state);
  };
  for (const Mode mode : modes) {
    const ContextScope scope({.mode = mode, .seed = 9});
    Weighted net;
    Model model{net, NoLoss{}, momentum(0)};
    const auto ones = dataset::from_arrays(dataset::column<Shape<64>>(std::vector<float>(4 * 64 * 3, 1.0f)));
    Outputs outputs;
    model.train(1, ones | dataset::batch(4), outputs);
    REQUIRE(outputs.value.size() == 3);
    for (std::size_t step = 0; step < 3; ++step)
      CHECK(same_bits(outputs.value[step], mask(0, step) + 4.0f * mask(1, step)));
  }
}

TEST_CASE("Dropout: another seed gives another mask, also from equal weights") {
  const auto losses = [](std::uint64_t seed) {
    Net net;
    net.init_parameters();  // from the context's seed, which is 0
    const ContextScope scope({.seed = seed});
    Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, momentum()};
    Losses seen;
    model.train(1, samples<Shape<12>>(28) | dataset::batch(28), seen);
    return seen.value[0];
  };
  CHECK(losses(1) == losses(1));
  CHECK(losses(1) != losses(2));
}

TEST_CASE("Dropout: every step draws anew") {
  for (const Mode mode : modes) {
    const ContextScope scope({.mode = mode});
    Net net;
    Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, momentum(0)};  // a rate of 0: the weights stay
    Losses losses;
    model.train(3, samples<Shape<12>>(28) | dataset::batch(28), losses);
    CHECK(losses.value[0] != losses.value[1]);
    CHECK(losses.value[1] != losses.value[2]);
  }
}

TEST_CASE("Dropout: two cells, and two calls of one cell, draw independent masks") {
  const Masks net;
  net.set_train();
  const X x = X::full(0.5f, 300);  // every mask scales 0.5 to 1 or 0
  const X y = net(x);
  long count[2][2][2]{};
  for (float v : y.values()) {
    const int digits = int(std::lround(v));
    ++count[digits / 100][digits / 10 % 10][digits % 10];
  }
  for (int i = 0; i < 8; ++i)
    CHECK(std::fabs(double(count[i / 4][i / 2 % 2][i % 2]) / double(x.count()) - 0.125) < 0.012);
}

TEST_CASE("Dropout: does nothing in evaluation, in both modes, and prediction is deterministic") {
  for (const Mode mode : modes) {
    const ContextScope scope({.mode = mode});
    const nn::Dropout<> drop;
    const X x = random_tensor<float, Shape<dyn, 64>>(1);
    CHECK(same_bits(drop(x), x));
    drop.set_train();
    const X once = drop(x);
    CHECK(!same_bits(once, x));
    CHECK(!same_bits(once, drop(x)));
    drop.set_train(false);
    CHECK(same_bits(drop(x), x));
    Net net;
    Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, momentum()};
    model.train(1, samples<Shape<12>>(28) | dataset::batch(8));
    const auto input = random_tensor<float, Shape<dyn, 12>>(2);
    CHECK(same_bits(model.predict(input), model.predict(input)));
    CHECK(same_bits(model.predict(input), net(input)));
  }
}

TEST_CASE("Dropout: the rate changes between steps without a new graph, and is no parameter of the network's") {
  for (const Mode mode : modes) {
    const ContextScope scope({.mode = mode});
    Net net;
    Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, momentum(0), nn::Loss{}};  // a rate of 0: the weights stay
    const auto data = samples<Shape<12>>(28) | dataset::batch(28);
    Losses losses;
    model.train(1, data, losses);
    net.first.set_rate(0);
    net.second.set_rate(0);
    model.train(2, data, losses);
    const double evaluated = model.eval(data)["loss"];
    CHECK(losses.value[0] != evaluated);
    CHECK(float(losses.value[1]) == float(evaluated));  // with p = 0 training and evaluation do the same
    CHECK(losses.value[2] == losses.value[1]);
  }
  Net net;
  CHECK(net.parameters_and_names().size() == 6);
  CHECK(!net.parameters_dict().contains("first.rate"));
  CHECK(net.parameter_count() == 12 * 40 + 40 + 40 * 40 + 40 + 40 * 3 + 3);
}

TEST_CASE("Dropout: a part after set_train(false) drops nothing in a training, before and after its network is bound") {
  for (const Mode mode : modes) {
    const ContextScope scope({.mode = mode});
    const auto data = samples<Shape<12>>(28) | dataset::batch(28);
    const auto losses = [&](auto change, bool bound) {
      Net net;
      if (bound) net.init_parameters();
      change(net);
      Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, momentum(0)};  // a rate of 0: the weights stay
      Losses seen;
      model.train(2, data, seen);
      return seen.value;
    };
    const auto none = losses([](const auto& net) { net.first.set_rate(0), net.second.set_rate(0); }, false);
    const auto one = losses([](const auto& net) { net.first.set_rate(0); }, false);
    const auto both = losses([](const auto&) {}, false);
    CHECK(none[0] == none[1]);
    CHECK(one[0] != none[0]);
    for (const bool bound : {false, true}) {
      CHECK(losses([](const auto& net) { net.first.set_train(false); }, bound) == one);
      CHECK(losses([](const auto& net) { net.first.set_train(false), net.second.set_train(false); }, bound) == none);
      CHECK(losses([](const auto& net) { net.first.set_train(false), net.set_train(); }, bound) == both);
      CHECK(losses([](const auto& net) { net.requires_grad(false), net.fc3.requires_grad(true); }, bound) == both);
      CHECK(losses([](const auto& net) { net.set_train(false); }, bound) == both);  // a Model decides by itself
    }
  }
}

TEST_CASE("Dropout: a part that evaluates, in a direct call of a network that trains") {
  const Masks net;
  net.set_train();
  net.a.set_train(false), net.b.set_train(false);
  const X x = X::full(0.5f, 3);
  CHECK(same_bits(net(x), X::full(0.5f * 100 + 0.5f * 10 + 0.5f, 3)));
  net.a.set_train();
  CHECK(!same_bits(net(x), X::full(0.5f * 100 + 0.5f * 10 + 0.5f, 3)));
}

TEST_CASE("Dropout: bad rates") {
  const nn::Dropout<> drop;
  CHECK_THROWS_WITH_AS(drop.set_rate(1), "Dropout.set_rate: p must be in [0, 1), got 1.", ValueError);
  CHECK_THROWS_AS(drop.set_rate(-0.1f), ValueError);
  CHECK_THROWS_AS(drop.set_rate(NAN), ValueError);
  drop.set_rate(0.25f);
  CHECK(drop.rate.value() == 0.25f);
  drop.init_parameters();
  CHECK(drop.rate.value() == 0.25f);
  drop.set_train();
  const X x = X::full(3, 2000), y = drop(x);
  CHECK(std::fabs(agreement(y, X::full(0, 2000)) - 0.25) < 0.01);
  CHECK(std::fabs(agreement(y, X::full(4, 2000)) - 0.75) < 0.01);
}
