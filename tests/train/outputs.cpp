// A network with two outputs, a loss with a weight for each, and metrics of each.
#include <doctest/doctest.h>

#include <cmath>

#include <tenon/dataset/operation/project.hpp>
#include <tenon/more.hpp>
#include <tenon/train/callback/history.hpp>

#include "small.hpp"

using namespace tenon;

namespace {
// A class and a position from three numbers.
struct TwoHeads : nn::Cell<TwoHeads> {
  nn::Dense<3, 8> hidden;
  nn::Dense<8, 3> classes;
  nn::Dense<8, 2> position;
  constexpr auto construct(auto x) const {
    auto h = tanh(hidden(x));
    return std::tuple(classes(h), position(h));
  }
};
// The same loss by hand, from a network that takes all columns.
struct ByHand : nn::Cell<ByHand> {
  nn::Dense<3, 8> hidden;
  nn::Dense<8, 3> classes;
  nn::Dense<8, 2> position;
  constexpr auto construct(auto x, auto label, auto target) const {
    auto h = tanh(hidden(x));
    auto first = nn::SoftmaxCrossEntropyWithLogits{}(classes(h), label);
    auto second = mul(nn::MSELoss{}(position(h), target), 0.5f);
    return std::tuple(add(first, second), stop_gradient(first), stop_gradient(second));
  }
};
auto rows() {
  std::vector<float> x, position;
  std::vector<std::int32_t> label;
  for (int i = 0; i < 24; ++i) {
    for (int k = 0; k < 3; ++k) x.push_back(k == i % 3 ? 1.0f : 0.1f * float(i % 5));
    label.push_back(i % 3);
    position.insert(position.end(), {float(i % 3), float(i % 5) / 5});
  }
  return dataset::from_arrays(dataset::column<Shape<3>>(x), dataset::column<Shape<>>(label),
                              dataset::column<Shape<2>>(position)) |
         dataset::batch(8);
}
struct Seen {
  std::vector<double> outputs;
  void step_end(RunInfo& run) {
    outputs.clear();
    for (const AnyTensor& t : run.net_outputs) outputs.push_back(mean_of(t));
  }
};
constexpr auto loss() {
  return nn::MultiLoss{nn::SoftmaxCrossEntropyWithLogits{}, nn::weighted_loss<0.5f>(nn::MSELoss{})};
}
}  // namespace

TEST_CASE("outputs: a loss for each trains as their weighted sum, in both modes") {
  std::string first;
  for (const Mode mode : {Mode::graph, Mode::pynative}) {
    const ContextScope scope({.mode = mode, .seed = 7});
    TwoHeads net;
    ByHand other;
    const nn::Momentum optimizer{.learning_rate = 0.2f, .momentum = 0.9f};
    Model model{net,
                loss(),
                optimizer,
                nn::for_output<0>("class_accuracy", nn::Accuracy{}),
                nn::for_output<1>("position_mae", nn::MAE{}),
                nn::Loss{}};
    Model by_hand{other, NoLoss{}, optimizer};
    Seen seen, same;
    model.train(40, rows(), seen);
    by_hand.train(40, rows(), same);
    REQUIRE(seen.outputs.size() == 3);
    CHECK(seen.outputs == same.outputs);
    CHECK(seen.outputs[0] == doctest::Approx(seen.outputs[1] + seen.outputs[2]).epsilon(1e-6));
    const std::string bits = small::bits(net);
    CHECK(bits == small::bits(other));
    if (first.empty()) first = bits;
    CHECK(bits == first);

    const auto result = model.eval(rows());
    CHECK(result["class_accuracy"] == 1.0);
    CHECK(result["position_mae"] < 0.3);
    CHECK(result["loss"] == doctest::Approx(seen.outputs[0]).epsilon(0.5));
    // the metric by hand: MindSpore divides the sum by the samples
    double error = 0;
    auto data = rows();
    const auto predictions = model.predict(data);
    const auto& at = std::get<1>(predictions);
    for (long i = 0; i < 24; ++i)
      for (long k = 0; k < 2; ++k)
        error += std::abs(double(at.data()[i * 2 + k]) - (k == 0 ? double(i % 3) : double(float(i % 5) / 5)));
    CHECK(result["position_mae"] == doctest::Approx(error / 24).epsilon(1e-5));
  }
}

namespace {
/// A loss that looks at all outputs, with one label column.
struct First : nn::Cell<First> {
  constexpr auto construct(auto outputs, auto label) const {
    return nn::SoftmaxCrossEntropyWithLogits{}(std::get<0>(outputs), label) + reduce_mean(square(std::get<1>(outputs)));
  }
};
}  // namespace

TEST_CASE("outputs: a metric chooses an output also where one loss takes them all") {
  TwoHeads net;
  Model model{net, First{}, nn::Momentum{.learning_rate = 0.2f, .momentum = 0.9f},
              nn::for_output<0>("class_accuracy", nn::Accuracy{})};
  const auto data = rows() | dataset::project<0, 1>();
  model.train(40, data);
  CHECK(model.eval(data)["class_accuracy"] == 1.0);
}
TEST_CASE("outputs: two metrics of one name are an error") {
  TwoHeads net;
  Model model{net, First{}, nn::Momentum{.learning_rate = 0.2f, .momentum = 0.9f},
              nn::for_output<0>("accuracy", nn::Accuracy{}), nn::for_output<0>("accuracy", nn::Accuracy{})};
  CHECK_THROWS_WITH_AS(model.eval(rows() | dataset::project<0, 1>()),
                       "Two metrics of the model have the name 'accuracy': give each its own name.", ValueError);
}

TEST_CASE("outputs: early stopping and fit see the metric of an output by its name") {
  TwoHeads net;
  Model model{net, loss(), nn::Momentum{.learning_rate = 0.2f, .momentum = 0.9f},
              nn::for_output<0>("class_accuracy", nn::Accuracy{})};
  History history;
  model.fit(3, rows(), rows(), history);
  CHECK(history.history["class_accuracy"].size() == 3);
}
