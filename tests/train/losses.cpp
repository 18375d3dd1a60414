// Losses of more than one number: tuples from a loss function or a network, losses per sample, other dtypes, own train
// steps.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <tenon/nn/loss/mse.hpp>
#include <tenon/nn/metric/naming/for_output.hpp>

#include "../support/logged.hpp"
#include "small.hpp"

using namespace small;

namespace {
constexpr Mode modes[]{Mode::graph, Mode::pynative};

/// The seed's question: a loss function that returns several values. The sum of its values is trained.
struct TwoLosses : nn::Cell<TwoLosses> {
  nn::SoftmaxCrossEntropyWithLogits<> entropy;
  constexpr auto construct(auto logits, auto labels) const {
    return std::tuple(entropy(logits, labels), ops::reduce_mean(ops::mul(logits, logits)));
  }
};
/// The same as one number.
struct OneLoss : nn::Cell<OneLoss> {
  nn::SoftmaxCrossEntropyWithLogits<> entropy;
  constexpr auto construct(auto logits, auto labels) const {
    return ops::add(entropy(logits, labels), ops::reduce_mean(ops::mul(logits, logits)));
  }
};
/// A network that computes its own losses from a whole row: what MindSpore needs WithLossCell and TrainOneStepCell for.
struct WithLosses : nn::Cell<WithLosses> {
  Net net;
  TwoLosses losses;
  constexpr auto construct(auto x, auto y) const { return losses(net(x), y); }
};
/// A network with two heads, and a loss that takes both.
struct TwoHeads : nn::Cell<TwoHeads> {
  nn::Dense<3, 2> classes;
  nn::Dense<3, 1> norm;
  constexpr auto construct(auto x) const { return std::tuple(norm(x), classes(x)); }
};
struct TwoHeadLoss : nn::Cell<TwoHeadLoss> {
  nn::SoftmaxCrossEntropyWithLogits<> entropy;
  constexpr auto construct(auto heads, auto labels) const {
    return std::tuple(entropy(std::get<1>(heads), labels),
                      ops::reduce_mean(ops::mul(std::get<0>(heads), std::get<0>(heads))));
  }
};
struct Scaled : nn::Cell<Scaled> {
  float factor = 2;
  nn::SoftmaxCrossEntropyWithLogits<> entropy;
  constexpr auto construct(auto logits, auto labels) const { return entropy(logits, labels); }
};

auto momentum() { return nn::Momentum{.learning_rate = 0.1f, .momentum = 0.9f}; }

/// The values of all outputs in every step.
struct Values {
  std::vector<std::vector<double>> steps;
  void step_end(RunInfo& run) {
    std::vector<double>& values = steps.emplace_back();
    for (const AnyTensor& t : run.net_outputs) values.push_back(mean_of(t));
  }
};
}  // namespace

TEST_CASE("losses: a tuple trains as its sum, and callbacks see each value") {
  std::string first;
  for (const Mode mode : modes) {
    const ContextScope scope({.mode = mode});
    Net together, apart;
    WithLosses inside;
    Model one{together, OneLoss{}, momentum()};
    Model two{apart, TwoLosses{}, momentum()};
    Model own{inside, NoLoss{}, momentum()};
    Values sums, parts, own_parts;
    one.train(3, ten(), sums);
    two.train(3, ten(), parts);
    REQUIRE(parts.steps.size() == 9);
    for (std::size_t i = 0; i < 9; ++i) {
      REQUIRE(parts.steps[i].size() == 2);
      CHECK(parts.steps[i][0] + parts.steps[i][1] == doctest::Approx(sums.steps[i][0]).epsilon(1e-5));
    }
    CHECK(parts.steps.back()[0] < parts.steps.front()[0]);
    for (std::size_t i = 0; i < small::bits(together).size() / 4; ++i) {
      const ParameterList a(together), b(apart);
      CHECK(reinterpret_cast<const float*>(a.arena()->data)[i] ==
            doctest::Approx(reinterpret_cast<const float*>(b.arena()->data)[i]).epsilon(1e-4));
    }
    own.train(3, ten(), own_parts);
    CHECK(own_parts.steps[0].size() == 2);
    CHECK(own_parts.steps.back()[0] < own_parts.steps.front()[0]);
    const std::string all = bits(apart) + bits(inside);
    if (first.empty()) first = all;
    CHECK(all == first);
  }
}

TEST_CASE("losses: a network with two outputs reaches its loss as a tuple, and predict returns a tuple") {
  std::string first;
  for (const Mode mode : modes) {
    const ContextScope scope({.mode = mode});
    TwoHeads net;
    Model model{net, TwoHeadLoss{}, momentum(), nn::for_output<1>("accuracy", nn::Accuracy{})};
    Values outputs;
    model.train(10, ten(), outputs);
    CHECK(outputs.steps.back()[0] < outputs.steps.front()[0]);
    CHECK(model.eval(ten())["accuracy"] >= 0.9);
    const auto x = Tensor<float, Shape<dyn, 3>>::full(0.5f, 4);
    auto [norm, classes] = model.predict(x);
    CHECK(norm.count() == 4);
    CHECK(classes.count() == 8);
    auto again = std::tuple(decltype(norm)::empty(4), decltype(classes)::empty(4));
    model.predict_into(again, x);
    CHECK(std::memcmp(std::get<1>(again).data(), classes.data(), 32) == 0);
    if (first.empty()) first = bits(net);
    CHECK(bits(net) == first);
  }
}

TEST_CASE("losses: one value per sample is shown as its mean and trained as its sum") {
  for (const Mode mode : modes) {
    const ContextScope scope({.mode = mode});
    Net none, sum;
    Model per_sample{none, nn::SoftmaxCrossEntropyWithLogits<nn::Reduction::none>{}, momentum()};
    Model summed{sum, nn::SoftmaxCrossEntropyWithLogits<nn::Reduction::sum>{}, momentum()};
    struct Shape {
      long extent = 0;
      void step_end(RunInfo& run) { extent = run.net_outputs[0].extent[0]; }
    } shape;
    Values means, sums;
    per_sample.train(1, samples(8) | dataset::batch(4), means, shape);
    summed.train(1, samples(8) | dataset::batch(4), sums);
    CHECK(shape.extent == 4);
    for (std::size_t i = 0; i < 2; ++i) CHECK(4 * means.steps[i][0] == doctest::Approx(sums.steps[i][0]).epsilon(1e-5));
    CHECK(bits(none) == bits(sum));
  }
}

TEST_CASE("losses: numbers of a loss object other than its type's are refused") {
  Net net;
  CHECK_NOTHROW(Model(net, Scaled{}, momentum()));
  Scaled other;
  other.factor = 3;
  CHECK_THROWS_AS(Model(net, std::move(other), momentum()), ValueError);
}

TEST_CASE("mean_of: every floating-point dtype, nothing, and integers") {
  const auto mean = []<class T>(std::vector<T> values) {
    const std::int64_t extents[]{std::int64_t(values.size())};
    return mean_of(AnyTensor(dtype_of<T>, extents, values.data()));
  };
  CHECK(mean(std::vector<float>{1, 2, 6}) == 3);
  CHECK(mean(std::vector<double>{1, 2, 6}) == 3);
  CHECK(mean(std::vector<float16>{1.0f, 2.0f, 6.0f}) == 3);
  CHECK(mean(std::vector<bfloat16>{1.0f, 2.0f, 6.0f}) == 3);
  CHECK(mean(std::vector<float>{}) == 0);
  CHECK(mean(std::vector<std::int32_t>{4}) == 0);
}

TEST_CASE("losses: one that nobody has reduced, [n, 4], is trained as its sum with a warning, [n] without one") {
  const auto warned = [](auto loss) {
    return support::messages(support::logged({}, [&] {
      nn::Dense<3, 4> net;
      const std::vector<float> x(24, 1.0f), y(32, 1.0f);
      Model model{net, loss, momentum()};
      model.train(2,
                  dataset::from_arrays(dataset::column<Shape<3>>(x), dataset::column<Shape<4>>(y)) | dataset::batch(4));
    }));
  };
  for (const Mode mode : modes) {
    const ContextScope scope({.mode = mode});
    CHECK(warned(nn::MSELoss<nn::Reduction::none>{}) ==
          "WARNING ME] Model.train: the loss is [4, 4], not a number or one per sample: training takes the sum of its "
          "elements. Reduce it, as nn::Reduction::mean does.\n");
    CHECK(warned(nn::MSELoss{}).empty());
  }
}
