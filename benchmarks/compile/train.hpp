// One training step of a model on a batch of one sample.
#pragma once
#include <cstdio>
#include <vector>

#include <tenon/tenon.hpp>

template <class T, class S>
auto sample() {
  std::vector<T> values(static_cast<std::size_t>(S::dims.count(1)));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<T>(i % 7);
  return tenon::dataset::column<S>(values);
}

template <class Net, class X, class Y>
int train(const X& x, const Y& y) {
  using namespace tenon;
  Net net;
  nn::Momentum optimizer{.learning_rate = 0.01f, .momentum = 0.9f};
#if defined(GRAPH_ONLY)
  Model model{pinned<Mode::graph>, net, nn::SoftmaxCrossEntropyWithLogits{}, optimizer};
#else
  Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, optimizer};
#endif
  model.train(1, dataset::from_arrays(x, y) | dataset::batch(1), LossMonitor{1});
  return 0;
}
