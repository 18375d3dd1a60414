// Small graphs as unrolled code: the bits of the other ways to run, for one sample and for many, whatever happens to
// the network.
#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>

#include <tenon/tenon.hpp>

using namespace tenon;

namespace {
struct Small : nn::Cell<Small> {
  nn::Dense<4, 9> fc1;
  nn::Dense<9, 3> fc2;
  nn::LayerNorm<Shape<3>> norm;
  // Several outputs: one that is computed last, one that others use, an input, a parameter.
  constexpr auto construct(auto x) const {
    const auto hidden = tanh(fc1(x)) * 0.5f;
    return std::tuple(norm(fc2(hidden)), hidden, x, value_in(x, fc2.bias));
  }
};
struct Large : nn::Cell<Large> {
  nn::Dense<4, 300> fc1;
  nn::Dense<300, 3> fc2;
  constexpr auto construct(auto x) const { return fc2(relu(fc1(x))); }
};
using Samples = Tensor<float, Shape<dyn, 4>>;
template <class Net>
using GraphOf = detail::StepRunner<Net, NoLoss, NoOptimizer, ModelOptions{}>::template PredictGraph<Samples>;
static_assert(Unrolled<GraphOf<Small>>::possible);
static_assert(!Unrolled<GraphOf<Large>>::possible);

Samples samples(long n) {
  Samples x = Samples::empty(n);
  for (long i = 0; i < x.count(); ++i) x.data()[i] = float(i % 7) * 0.3f - 1;
  return x;
}
template <class Net>
auto predicted(Net& net, Mode mode, const Samples& x) {
  const ContextScope scope({.mode = mode});
  return Model{net}.predict(x);
}
}  // namespace

TEST_CASE("one sample as unrolled code, in PyNative mode, and as the first of many: the same bits") {
  Small net;
  const auto x = samples(5), first = samples(1);
  const auto [a, b, c, d] = predicted(net, Mode::graph, first);
  const auto [a2, b2, c2, d2] = predicted(net, Mode::pynative, first);
  const auto [all, hidden, in, bias] = predicted(net, Mode::graph, x);
  CHECK(bit_equal(a, a2));
  CHECK(bit_equal(b, b2));
  CHECK(bit_equal(c, c2));
  CHECK(bit_equal(d, d2));
  CHECK(bit_equal(c, first));
  CHECK(std::memcmp(a.data(), all.data(), sizeof(float) * 3) == 0);
  CHECK(std::memcmp(b.data(), hidden.data(), sizeof(float) * 9) == 0);
  CHECK(std::abs(a.data()[0]) + std::abs(a.data()[1]) > 0.1f);
}

TEST_CASE("unrolled code sees changed values, parts that were replaced, and keeps denormals away") {
  Small net;
  const ContextScope scope({.mode = Mode::graph});
  Model model{net};
  const auto x = samples(1);
  const auto before = std::get<1>(model.predict(x));
  for (float& w : net.fc1.weight.values()) w = -w;
  for (float& w : net.fc1.bias.values()) w = -w;
  const auto negated = std::get<1>(model.predict(x));
  for (long i = 0; i < 9; ++i) CHECK(negated.data()[i] == -before.data()[i]);

  net.fc1 = nn::Dense<4, 9>();  // not bound
  net.fc1.init_parameters();
  for (float& w : net.fc1.weight.values()) w = 0.25f;
  const auto replaced = model.predict(x);
  CHECK(std::get<1>(replaced).data()[0] != negated.data()[0]);
  CHECK(bit_equal(std::get<0>(replaced), std::get<0>(predicted(net, Mode::pynative, x))));

  for (float& w : net.fc1.weight.values()) w = 1e-39f;
  for (float& w : net.fc1.bias.values()) w = 0;
  const auto tiny = std::get<1>(model.predict(x));
  for (const float v : tiny.values()) CHECK(v == 0);
}

namespace {
struct Classifier : nn::Cell<Classifier> {
  nn::Dense<4, 9> fc1;
  nn::Dense<9, 3> fc2;
  nn::Dropout<nn::DropoutConfig{.p = 0.25f}> dropout;
  constexpr auto construct(auto x) const { return fc2(dropout(relu(fc1(x)))); }
};
auto rows() {
  std::vector<float> x;
  std::vector<std::int32_t> labels;
  for (int i = 0; i < 12; ++i) {
    for (int k = 0; k < 4; ++k) x.push_back(k == i % 3 ? 1.5f : 0.1f * float(i));
    labels.push_back(i % 3);
  }
  return dataset::from_arrays(dataset::column<Shape<4>>(std::move(x)), dataset::column<Shape<>>(std::move(labels)));
}
using Step = detail::StepRunner<Classifier, nn::SoftmaxCrossEntropyWithLogits<>, nn::Momentum, ModelOptions{}>;
static_assert(Unrolled<Step::TrainGraph<dataset::Column<float, Shape<dyn, 4>>,
                                        dataset::Column<std::int32_t, Shape<dyn>>>>::possible);

// Losses and weights of a training whose fc1 is frozen for the second of three epochs, with an evaluation inside of
// each epoch.
std::vector<float> trained(Mode mode) {
  const ContextScope scope({.mode = mode, .seed = 3});
  Classifier net;
  Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, nn::Momentum{.learning_rate = 0.05f, .momentum = 0.9f},
              nn::Accuracy{}};
  std::vector<float> numbers;
  const auto data = rows() | dataset::batch(1);
  const auto note = [&](RunInfo& run) {
    const float before = float(run.loss());
    if (run.step_in_epoch() == 5) model.eval(data);
    CHECK(float(run.loss()) == before);
    numbers.push_back(before);
  };
  struct Note {
    decltype(note)& f;
    void step_end(RunInfo& run) { f(run); }
  };
  for (const bool frozen : {false, true, false}) {
    const std::vector<float> before(net.fc1.weight.values().begin(), net.fc1.weight.values().end());
    net.fc1.weight.requires_grad(!frozen);
    model.train(1, data, Note{note});
    CHECK(std::equal(before.begin(), before.end(), net.fc1.weight.values().begin()) == frozen);
  }
  for (const auto& [name, parameter] : ParameterList(net).dict())
    for (const float w : parameter.template values<float>()) numbers.push_back(w);
  return numbers;
}
}  // namespace

TEST_CASE(
    "steps of one sample as unrolled code: the bits of PyNative mode, also around a frozen epoch and evaluations") {
  const std::vector<float> graph = trained(Mode::graph), pynative = trained(Mode::pynative);
  CHECK(graph == pynative);
  const auto epoch = [&](int number) {
    return std::accumulate(graph.begin() + 12 * number, graph.begin() + 12 * (number + 1), 0.0f);
  };
  CHECK(epoch(2) < 0.8f * epoch(0));  // means: which units a single step drops is luck
}
