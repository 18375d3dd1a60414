// The drawn digits are as hard as they should be: a linear model stays below 95 %, LeNet goes above 98 %.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <tenon/dataset/dataset.hpp>
#include <tenon/nn/metric/accuracy.hpp>
#include <tenon/train/model.hpp>

#include "../support/models.hpp"
#include "../support/sanitized.hpp"

using namespace tenon;

namespace {

/// Softmax regression.
struct Linear : nn::Cell<Linear> {
  nn::Dense<784, 10> fc;
  constexpr auto construct(auto x) const { return fc(flatten(x)); }
};

/// The accuracy on 5,000 new digits after some passes over 20,000.
template <class Net>
double accuracy_after(int epochs) {
  const ContextScope scope({.mode = Mode::graph, .seed = 1});
  const auto train =
      dataset::Digits{.usage = dataset::Usage::train, .size = support::sanitized ? 640 : 20000, .seed = 1} |
      dataset::shuffle(20000, 1) | dataset::batch(32);
  const auto test = dataset::Digits{.usage = dataset::Usage::test, .size = 5000, .seed = 1} | dataset::batch(100);
  Net net;
  Model model{pinned<Mode::graph>, net, nn::SoftmaxCrossEntropyWithLogits{},
              nn::Momentum{.learning_rate = 0.01f, .momentum = 0.9f}, nn::Accuracy{}};
  model.train(epochs, train);
  return model.eval(test)["accuracy"];
}

}  // namespace

TEST_CASE("Digits: a linear model learns much, but stays below 95 %") {
  const double accuracy = accuracy_after<Linear>(10);  // 12 passes over 60,000 digits do not lift it above 93 % either
  MESSAGE("linear model: ", accuracy);
  CHECK(accuracy > (support::sanitized ? 0.2 : 0.85));
  CHECK(accuracy < 0.95);
}

TEST_CASE("Digits: LeNet goes above 98 %") {
  const double accuracy = accuracy_after<support::LeNet>(3);
  MESSAGE("LeNet: ", accuracy);
  CHECK(accuracy > (support::sanitized ? 0.0 : 0.98));
}
