// Averages of weights: the formulas, evaluations on the averages, what the network has in the end.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <cmath>

#include <tenon/ops/cast.hpp>
#include <tenon/ops/reduce_mean.hpp>
#include <tenon/train/callback/any_callback.hpp>
#include <tenon/train/callback/weight_average.hpp>
#include <tenon/train/checkpoint.hpp>

#include "../small.hpp"

using namespace small;

namespace {
std::vector<double> weights(const auto& net) {
  std::vector<double> all;
  for (const io::NamedTensor& one : named_parameters(net)) {
    const auto* const data = static_cast<const float*>(one.tensor.data);
    all.insert(all.end(), data, data + one.tensor.count());
  }
  return all;
}
/// The weights after each step, or each epoch.
struct Watch {
  bool steps = true;
  std::vector<std::vector<double>> seen{};
  void on_train_step_end(auto& run) {
    if (steps) seen.push_back(weights(run.model.network()));
  }
  void on_train_epoch_end(auto& run) {
    if (!steps) seen.push_back(weights(run.model.network()));
  }
};
/// The weights in evaluations.
struct WatchEval {
  std::vector<std::vector<double>> seen{};
  void on_eval_step_end(auto& run) { seen.push_back(weights(run.model.network())); }
};
auto make(Net& net) {
  return Model(net, nn::SoftmaxCrossEntropyWithLogits{}, nn::Momentum{.learning_rate = 0.3f, .momentum = 0.9f},
               nn::Accuracy{});
}
void check_equal(const std::vector<double>& found, const std::vector<double>& expected) {
  REQUIRE(found.size() == expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) CHECK(found[i] == double(float(expected[i])));
}
}  // namespace

TEST_CASE("exponential moving average, in both modes") {
  for (const Mode mode : {Mode::graph, Mode::pynative}) {
    set_context({.mode = mode, .seed = 9});
    Net net, alone;
    auto model = make(net), plain = make(alone);
    Watch watch;
    model.train(3, ten(), watch, ExponentialMovingAverage{.decay = 0.8});
    std::vector<double> average = watch.seen.at(0);
    for (std::size_t s = 1; s < watch.seen.size(); ++s)
      for (std::size_t i = 0; i < average.size(); ++i) average[i] += (1 - 0.8) * (watch.seen[s][i] - average[i]);
    check_equal(weights(net), average);
    plain.train(3, ten());
    CHECK(weights(alone) == watch.seen.back());  // the training itself is the same
  }
}
TEST_CASE("evaluations by fit judge the averages, the training goes on with the weights") {
  set_context({.mode = Mode::graph, .seed = 9});
  Net net, alone;
  auto model = make(net), plain = make(alone);
  Watch watch, unwatched;
  WatchEval evaluated;
  model.fit(2, ten(), samples(4) | dataset::batch(4), watch, ExponentialMovingAverage{.decay = 0.5}, evaluated);
  std::vector<double> average = watch.seen.at(0);
  for (std::size_t s = 1; s < 3; ++s)
    for (std::size_t i = 0; i < average.size(); ++i) average[i] += 0.5 * (watch.seen[s][i] - average[i]);
  REQUIRE(evaluated.seen.size() == 2);
  check_equal(evaluated.seen[0], average);
  plain.train(2, ten(), unwatched);
  CHECK(unwatched.seen == watch.seen);
}
TEST_CASE("stochastic weight averaging") {
  set_context({.mode = Mode::graph, .seed = 9});
  Net net;
  auto model = make(net);
  Watch watch{.steps = false};
  model.train(4, ten(), watch, StochasticWeightAverage{.first_epoch = 2});
  const std::vector<double> found = weights(net);
  for (std::size_t i = 0; i < found.size(); ++i)
    CHECK(std::fabs(found[i] - (watch.seen[1][i] + watch.seen[2][i] + watch.seen[3][i]) / 3) < 1e-6);
}
namespace {
struct OtherNet : nn::Cell<OtherNet> {
  nn::Dense<3, 2> fc1;
  constexpr auto construct(auto x) const { return fc1(x); }
};
template <class T>
struct Line : nn::Cell<Line<T>> {
  Parameter<T, Shape<3>, nn::One{}> weight;
  constexpr auto construct(auto x, auto) const {
    return ops::reduce_mean(ops::cast<float>(ops::mul(ops::cast<T>(x), weight)));
  }
};
template <class T>
std::vector<double> elements(const Line<T>& net) {
  const std::span<const T> all = named_parameters(net)[0].tensor.template as<T>();
  return {all.begin(), all.end()};
}
template <class T>
struct WatchLine {
  std::vector<std::vector<double>> seen{};
  void on_train_step_end(auto& run) { seen.push_back(elements<T>(run.model.network())); }
};
template <class T>
void check_line() {
  Line<T> net;
  Model model(net, NoLoss{}, nn::Momentum{.learning_rate = 1, .momentum = 0});
  WatchLine<T> watch;
  model.train(1, ten(), watch, ExponentialMovingAverage{.decay = 0.5});
  const std::vector<double> found = elements<T>(net);
  REQUIRE(watch.seen.size() == 3);
  REQUIRE(watch.seen[0] != watch.seen[2]);
  for (std::size_t i = 0; i < found.size(); ++i)
    CHECK(found[i] == double(T(watch.seen[0][i] / 4 + watch.seen[1][i] / 4 + watch.seen[2][i] / 2)));
}
}  // namespace
TEST_CASE("parameters of all floating-point dtypes are averaged") {
  check_line<float>();
  check_line<double>();
  check_line<float16>();
  check_line<bfloat16>();
}
TEST_CASE("averages of another network are refused before they are written") {
  Net net;
  OtherNet other;
  auto model = make(net);
  Model smaller(other, nn::SoftmaxCrossEntropyWithLogits{}, nn::Momentum{.learning_rate = 0.3f, .momentum = 0.9f},
                nn::Accuracy{});
  ExponentialMovingAverage exponential{.decay = 0.8};
  model.train(1, ten(), exponential);
  const std::string before = bits(other);
  CHECK_THROWS_WITH_AS(
      smaller.eval(ten(), exponential),
      doctest::Contains("The weights that ExponentialMovingAverage keeps are not those of this network"), ValueError);
  std::vector<AnyCallbackOf<decltype(smaller)>> list{exponential};
  CHECK_THROWS_AS(smaller.eval(ten(), list), ValueError);
  CHECK(bits(other) == before);
  smaller.train(1, ten(), exponential);  // a training begins with new averages
  smaller.eval(ten(), exponential);
}
TEST_CASE("what is refused") {
  Net net;
  auto model = make(net);
  CHECK_THROWS_AS(model.train(1, ten(), ExponentialMovingAverage{.decay = 1}), ValueError);
  CHECK_THROWS_AS(model.train(1, ten(), StochasticWeightAverage{.first_epoch = 0}), ValueError);
}
