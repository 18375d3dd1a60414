// What a program may do around a Model without making the two modes differ: replace parts, freeze, evaluate inside,
// view parameters.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <algorithm>

#include <doctest/doctest.h>

#include <tenon/tenon.hpp>
#include <tenon/train/checkpoint.hpp>

using namespace tenon;

namespace {

struct Net : nn::Cell<Net> {
  nn::Dense<3, 4> a;
  nn::Dense<4, 2> b;
  constexpr auto construct(auto x) const { return b(relu(a(x))); }
};

// A vector parameter that is used five times, each time through a view of another shape.
struct Viewed : nn::Cell<Viewed> {
  Parameter<float, Shape<3>, nn::Uniform{0.5f}> p;
  constexpr auto construct(auto x) const {  // x: [n, 3]
    auto row = [&](auto v) { return v * ParameterView<decltype(p), Shape<1, 3>>{p}; };
    auto y = row(x) + row(tanh(row(x)));
    return reduce_sum<1>(row(y) * row(exp(x)));
  }
};

struct Predicts {
  void step_end(auto& run) { run.model.predict(Tensor<float, Shape<dyn, 3>>::full(5.0f, 9)); }
};

auto data() {
  std::vector<float> x(60);
  std::vector<std::int32_t> y(20);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 7) * 0.3f - 0.8f;
  for (std::size_t i = 0; i < y.size(); ++i) y[i] = std::int32_t(i % 2);
  return dataset::from_arrays(dataset::column<Shape<3>>(x), dataset::column<Shape<>>(y)) | dataset::batch(5);
}
template <class N>
std::vector<float> weights(const N& net) {
  std::vector<float> all;
  for (const auto& [name, tensor] : named_parameters(net))
    all.insert(all.end(), tensor.template as<float>().begin(), tensor.template as<float>().end());
  return all;
}
auto model_of(Net& net, Mode mode) {
  const ContextScope scope({.mode = mode, .seed = 3});
  return Model{net, nn::SoftmaxCrossEntropyWithLogits{}, nn::Momentum{.learning_rate = 0.1f, .momentum = 0.9f},
               nn::Loss{}};
}

}  // namespace

TEST_CASE("a part that is replaced is the part that runs and trains, in both modes") {
  std::vector<float> results[2];
  for (const Mode mode : {Mode::graph, Mode::pynative}) {
    const ContextScope scope({.mode = mode, .seed = 3});
    Net net, other;
    other.init_parameters();
    for (float& v : other.b.weight.values()) v = 7;
    auto model = model_of(net, mode);
    model.train(1, data());
    net.b = other.b.clone();
    model.train(1, data());
    CHECK(net.b.weight.values()[0] != 7);
    CHECK(net.b.weight.values()[0] > 5);
    results[mode == Mode::pynative] = weights(net);
    CHECK(bit_equal(net(Tensor({{1.0f, 2.0f, 3.0f}})), model.predict(Tensor({{1.0f, 2.0f, 3.0f}}))));
  }
  CHECK(results[0] == results[1]);
}

TEST_CASE("a network that is assigned another one has the other's frozen parameters") {
  for (const Mode mode : {Mode::graph, Mode::pynative}) {
    Net net, other;
    auto model = model_of(net, mode);
    net.a.requires_grad(false);
    model.train(1, data());
    other.init_parameters();
    other.b.requires_grad(false);
    net = other.clone();
    const auto before = weights(net);
    model.train(1, data());
    const auto after = weights(net);
    CHECK(!std::equal(before.begin(), before.begin() + 12, after.begin()));    // a trains
    CHECK(std::equal(before.begin() + 16, before.end(), after.begin() + 16));  // b is frozen
  }
}

TEST_CASE("with everything frozen by flag, a training says so, and one part is enough to train again") {
  for (const Mode mode : {Mode::graph, Mode::pynative}) {
    Net net;
    auto model = model_of(net, mode);
    net.requires_grad(false);
    const auto before = weights(net);
    CHECK_THROWS_WITH_AS(model.train(1, data()),
                         "Model.train: the optimizer got an empty parameter list: requires_grad(false) has frozen "
                         "every parameter. Call requires_grad(true) of what is to train.",
                         ValueError);
    CHECK(before == weights(net));
    net.b.requires_grad(true);
    model.train(1, data());
    CHECK(before != weights(net));
  }
}

TEST_CASE("parameters seen through views get the same gradient bits in both modes") {
  const auto step = [](Mode mode) {
    const ContextScope scope({.mode = mode, .seed = 3});
    Viewed net;
    Model model{net, NoLoss{}, nn::Momentum{.learning_rate = 0.001f, .momentum = 0.9f}};
    std::vector<float> x(30);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 11) * 0.17f - 0.9f;
    const auto rows = dataset::from_arrays(dataset::column<Shape<3>>(x)) | dataset::batch(5);
    const auto before = weights(net);
    model.train(10, rows);
    CHECK(before != weights(net));
    return weights(net);
  };
  CHECK(step(Mode::graph) == step(Mode::pynative));
}

TEST_CASE("a prediction inside of an evaluation leaves its metrics alone") {
  for (const Mode mode : {Mode::graph, Mode::pynative}) {
    Net net;
    auto model = model_of(net, mode);
    const double alone = model.eval(data())["loss"];
    CHECK(model.eval(data(), Predicts{})["loss"] == alone);
  }
}

TEST_CASE("watching a value of the tape again does not cut the graph") {
  const auto w = Tensor<float, Shape<>>::full(3.0f);
  eager::Tape tape;
  tape.watch(w);
  const auto h = w * w;
  tape.watch(h);
  tape.backward(h * h);
  CHECK(tape.gradient(w).item() == 108);
}

TEST_CASE("a tape keeps the memory of a network that is gone before backward") {
  eager::Tape tape;
  const auto loss = [] {
    Net net;
    return reduce_sum(net(Tensor({{1.0f, 2.0f, 3.0f}})));
  }();
  tape.backward(loss);  // reads the parameters
  CHECK(loss.count() == 1);
}
