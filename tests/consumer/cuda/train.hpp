// What both languages compile: a training of a small network on drawn digits.
#pragma once
#include <tenon/tenon.hpp>

using namespace tenon;

namespace {
struct Net : nn::Cell<Net> {
  nn::Conv2d<1, 4, 5> conv;
  nn::Dense<4 * 14 * 14, 10> dense;
  constexpr auto construct(auto image) const { return dense(flatten(max_pool2d<2>(relu(conv(image))))); }
};
struct LastLoss {
  double value = 0;
  void step_end(RunInfo& run) { value = run.loss(); }
};

double train() {
  const auto data = dataset::Digits{.usage = dataset::Usage::train, .size = 256} | dataset::batch(32);
  set_context({.seed = 1});
  Net net;
  Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, nn::Momentum{.learning_rate = 0.01f, .momentum = 0.9f}};
  LastLoss last;
  model.train(1, data, last);
  return last.value;
}
}  // namespace
