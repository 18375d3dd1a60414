// Control flow in networks that a Model trains: an LSTM in user code, a condition, random numbers in a loop; nothing is
// allocated.
// headers: yes
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include <tenon/more.hpp>

#include "../../support/allocations.hpp"
#include "../../support/skip.hpp"
#include "../../support/tensors.hpp"

using namespace tenon;

namespace {
constexpr int features = 4, units = 8, length = 6;

/// A layer of long short-term memory as a user writes it.
struct Scanned : nn::Cell<Scanned> {
  static constexpr nn::DefaultBias init{float(units)};
  Parameter<float, Shape<4 * units, features>, init> weight_ih;
  Parameter<float, Shape<4 * units, units>, init> weight_hh;
  Parameter<float, Shape<4 * units>, init> bias_ih, bias_hh;
  constexpr auto construct(auto x) const {
    const auto zero = zeros<Shape<dyn, units>>(x);
    const auto [state, all] = scan(
        [&](auto carried, auto v) {
          const auto [h, c] = carried;
          const auto gates = matmul<Transposed::second>(v, weight_ih) + matmul<Transposed::second>(h, weight_hh);
          const auto [i, f, g, o] = split<1, 4>(gates + bias_ih + bias_hh);
          const auto next = sigmoid(f) * c + sigmoid(i) * tanh(g);
          const auto out = sigmoid(o) * tanh(next);
          return std::tuple(std::tuple(out, next), out);
        },
        std::tuple(zero, zero), x);
    return all;
  }
};
struct Layer : nn::Cell<Layer> {
  nn::LSTM<features, units> lstm;
  constexpr auto construct(auto x) const {
    const auto [all, h, c] = lstm(x);
    return all;
  }
};
template <class Memory>
struct Reader : nn::Cell<Reader<Memory>> {
  Memory memory;
  nn::Dense<units, 3> fc;
  constexpr auto construct(auto x) const { return fc(reduce_mean<1>(memory(x))); }
};
/// Two ways through the network, by the mean of the batch: each has a layer of its own, and they share one.
struct Branching : nn::Cell<Branching> {
  nn::Dense<features, units> low, high;
  nn::Dense<units, units> shared;
  nn::Dense<units, 3> fc;
  constexpr auto construct(auto x) const {
    const auto v = reduce_mean<1>(x);
    const auto chosen = cond(
        reduce_mean(v) < 0.0f, [&](auto u) { return shared(tanh(low(u))); },
        [&](auto u) { return relu(shared(sigmoid(high(u)))) + 0.5f; }, v);
    return fc(chosen);
  }
};
/// Draws in each turn, in training and in evaluation.
struct Noisy : nn::Cell<Noisy> {
  nn::Dense<features, features> fc;
  nn::Setting<0.25f> rate;
  constexpr auto construct(auto x) const {
    const auto first = ops::dropout(zeros<Shape<dyn, features>>(x) + 1.0f, rate);
    return scan([&](auto h, auto v) { return ops::dropout(tanh(fc(h) + v), rate); }, first, x);
  }
};

auto rows() {
  std::vector<float> x;
  std::vector<std::int32_t> y;
  Random random(7);
  for (int i = 0; i < 28; ++i) {
    for (int k = 0; k < length * features; ++k) x.push_back(float(i % 3 - 1) + random.uniform(-1, 1));
    y.push_back(i % 3);
  }
  return dataset::from_arrays(dataset::column<Shape<length, features>>(std::move(x)),
                              dataset::column<Shape<>>(std::move(y))) |
         dataset::batch(8);
}

struct Losses {
  std::vector<double> value;
  void step_end(RunInfo& run) { value.push_back(run.loss()); }
};
struct Trained {
  std::vector<double> losses;
  std::vector<float> values;
  bool operator==(const Trained&) const = default;
};
template <class Net>
std::vector<float> values_of(const Net& net) {
  std::vector<float> all;
  for (const auto& [name, parameter] : net.parameters_and_names())
    for (const double v : parameter.template values<float>()) all.push_back(float(v));
  return all;
}
template <class Net>
void start(const Net&) {}
/// The same first weights.
void start(const Reader<Layer>& net) {
  Reader<Scanned> other;
  other.init_parameters();
  net.init_parameters();
  const auto& w = net.memory.lstm.weights();
  std::ranges::copy(other.memory.weight_ih.values(), w.weight_ih.values().begin());
  std::ranges::copy(other.memory.weight_hh.values(), w.weight_hh.values().begin());
  std::ranges::copy(other.memory.bias_ih.values(), w.bias_ih.values().begin());
  std::ranges::copy(other.memory.bias_hh.values(), w.bias_hh.values().begin());
  std::ranges::copy(other.fc.weight.values(), net.fc.weight.values().begin());
  std::ranges::copy(other.fc.bias.values(), net.fc.bias.values().begin());
}
template <class Net>
Trained trained(Mode mode, int threads = 1, int epochs = 12) {
  const ContextScope scope({.mode = mode, .num_threads = threads, .seed = 3});
  Net net;
  start(net);
  Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, nn::SGD{.learning_rate = 0.2f}};
  Losses losses;
  model.train(epochs, rows(), losses);
  return {losses.value, values_of(net)};
}
}  // namespace

TEST_CASE("an LSTM by scan: equal bits in both modes and with threads, near nn::LSTM") {
  const Trained graph = trained<Reader<Scanned>>(Mode::graph);
  CHECK(graph == trained<Reader<Scanned>>(Mode::pynative));
  CHECK(graph == trained<Reader<Scanned>>(Mode::graph, 2));
  CHECK(graph.losses.back() < graph.losses.front() / 2);
  const Trained layer = trained<Reader<Layer>>(Mode::graph);
  REQUIRE(layer.losses.size() == graph.losses.size());
  for (std::size_t i = 0; i < layer.losses.size(); ++i) CHECK(std::fabs(layer.losses[i] - graph.losses[i]) < 1e-4);
}

TEST_CASE("a condition: equal bits in both modes and with threads, and the loss falls") {
  const Trained graph = trained<Branching>(Mode::graph, 1, 40);
  CHECK(graph == trained<Branching>(Mode::pynative, 1, 40));
  CHECK(graph == trained<Branching>(Mode::graph, 2, 40));
  CHECK(graph.losses.back() < graph.losses.front() / 2);
}

TEST_CASE("a condition: a step changes the layers of the way it took, as a step without the other way does") {
  for (const float value : {-1.0f, 1.0f}) {
    CAPTURE(value);
    const ContextScope scope({.seed = 3});
    Branching net;
    net.init_parameters();
    const Branching before = net.clone();
    const auto x = std::vector<float>(8 * length * features, value);
    const auto data = dataset::from_arrays(dataset::column<Shape<length, features>>(x),
                                           dataset::column<Shape<>>(std::vector<std::int32_t>(8, 1))) |
                      dataset::batch(8);
    Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, nn::SGD{.learning_rate = 0.2f}};
    model.train(1, data);
    const auto changes = [](const auto& layer, const auto& old) {
      return !std::ranges::equal(layer.weight.values(), old.weight.values());
    };
    CHECK(changes(net.low, before.low) == (value < 0));
    CHECK(changes(net.high, before.high) == (value > 0));
    CHECK(changes(net.shared, before.shared));
    CHECK(changes(net.fc, before.fc));
  }
}

TEST_CASE("random numbers in a loop: other ones in each turn, the same in both modes") {
  const auto predicted = [](Mode mode) {
    const ContextScope scope({.mode = mode, .seed = 5});
    Noisy net;
    Model model{net};
    const auto x = Tensor<float, Shape<dyn, length, features>>::full(0.0f, 8);
    const auto y = model.predict(x);
    return std::vector<float>(y.values().begin(), y.values().end());
  };
  const auto graph = predicted(Mode::graph);
  CHECK(graph == predicted(Mode::pynative));
  CHECK(std::ranges::count(graph, 0.0f) > 0);
  CHECK(std::ranges::count(graph, 0.0f) < long(graph.size()) / 2);
}

namespace {
struct Masks : nn::Cell<Masks> {
  nn::Setting<0.25f> rate;
  constexpr auto construct(auto x) const {
    return scan([&](auto h, auto) { return ops::dropout(h, rate); }, ones<Shape<dyn, features>>(x), x);
  }
};
struct Window {
  long from, to, found = -1;
  void step_end(RunInfo& run) {
    if (run.cur_step_num == to) support::counting = false, found = support::allocations;
    if (run.cur_step_num == from) support::allocations = 0, support::counting = true;
  }
};
}  // namespace

TEST_CASE("masks of turns differ") {
  Masks net;
  Model model{net};
  const auto x = Tensor<float, Shape<dyn, length, features>>::full(0.0f, 64);
  const auto y = model.predict(x);
  const double zero = double(std::ranges::count(y.values(), 0.0f)) / double(y.values().size());
  CHECK(zero == doctest::Approx(1 - std::pow(0.75, length)).epsilon(0.1));
}

namespace {
/// What a debugger would see in the body: the first value of what is carried.
std::vector<float> seen;
struct Debugged : nn::Cell<Debugged> {
  nn::Dense<features, features> fc;
  nn::Dense<features, 3> head;
  nn::Setting<0.25f> rate;
  constexpr auto construct(auto x) const {
    return head(scan(
        [&](auto h, auto v) {
          const auto next = ops::dropout(tanh(fc(h) + v), rate);
          if constexpr (requires { next.values(); }) seen.push_back(next.values()[0]);
          return next;
        },
        zeros<Shape<dyn, features>>(x), x));
  }
};
}  // namespace

TEST_CASE("PyNative mode: a step of a Model runs construct operator by operator, with the values that the step has") {
  const Trained graph = trained<Debugged>(Mode::graph);
  CHECK(seen.empty());
  CHECK(trained<Debugged>(Mode::pynative) == graph);
  CHECK(seen.size() == graph.losses.size() * length);
  CHECK(std::ranges::count(seen, 0.0f) > 0);
  CHECK(std::ranges::count(seen, 0.0f) < long(seen.size()) / 2);
}

TEST_CASE_TEMPLATE("a step with a loop or a condition allocates nothing", Net, Reader<Scanned>, Branching) {
  for (const Mode mode : {Mode::graph, Mode::pynative}) {
    const ContextScope scope({.mode = mode});
    Net net;
    Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, nn::SGD{.learning_rate = 0.2f}};
    Window window{8, 40};
    model.train(12, rows(), window);
    if (support::counted) CHECK(window.found == 0);
  }
}
