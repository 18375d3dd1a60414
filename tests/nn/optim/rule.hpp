// Compares a training with an optimizer's rule, written out in double beside it: gradients are known numbers.
#pragma once
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include <doctest/doctest.h>

#include "../../train/small.hpp"

namespace rules {

using namespace small;

inline constexpr Mode modes[]{Mode::graph, Mode::pynative};
inline constexpr int features = 19;  // vectors and what is left of them

/// Its loss is the sum of x * weight, hence the gradient of weight is the sum of x over the batch: known numbers.
template <class T>
struct Linear : nn::Cell<Linear<T>> {
  Parameter<T, Shape<features>, nn::Zero{}> weight;
  Parameter<T, Shape<features>, nn::Zero{}> gamma;
  constexpr auto construct(auto x) const {
    return ops::add(ops::reduce_sum(ops::mul(x, weight)), ops::reduce_sum(ops::mul(x, gamma)));
  }
};
template <class T>
auto rows() {
  std::vector<T> x;
  constexpr float values[]{1.0f, -2.0f, 0.5f, 0.25f, 1.0f, -1.0f, 3.0f, 0.0f, 0.125f, -0.5f, 0.75f, 2.0f, -0.25f};
  for (std::size_t i = 0; i < 4 * features; ++i) x.push_back(T(values[i % std::size(values)]));
  return dataset::from_arrays(dataset::column<Shape<features>>(x)) | dataset::batch(1);
}

/// One element's state of an optimizer in double: parameter and moments.
struct State {
  double p, a = 0, b = 0, c = 0;
};
using Rule = std::function<void(State&, double gradient, double rate, int t)>;

/// Trains 4 steps with the optimizer and with the rule, and compares every element. `decays` says whether gamma decays.
template <class T, class Optimizer>
void check_rule(const Optimizer& optimizer, double weight_decay, bool coupled, const Rule& rule,
                double tolerance = 1e-6, bool gamma_decays = false) {
  for (const Mode mode : modes) {
    const ContextScope scope({.mode = mode});
    Linear<T> net;
    Model model{net, NoLoss{}, optimizer};
    std::vector<State> expected;
    for (int i = 0; i < 2 * features; ++i) {
      T& element = (i < features ? net.weight : net.gamma).values()[std::size_t(i % features)];
      element = T(0.5f - 0.25f * float(i % 6));
      expected.push_back({static_cast<double>(element)});
    }
    model.train(1, rows<T>());
    int t = 0;
    for (const auto& row : rows<T>()) {
      ++t;
      for (int i = 0; i < 2 * features; ++i) {
        State& s = expected[std::size_t(i)];
        const double decay = i < features || gamma_decays ? weight_decay : 0, before = s.p;
        rule(s,
             static_cast<double>(row.template values<0>()[std::size_t(i % features)]) + (coupled ? decay * before : 0),
             optimizer.learning_rate.at(t - 1), t);
        if (!coupled) s.p -= optimizer.learning_rate.at(t - 1) * decay * before;
      }
    }
    for (int i = 0; i < 2 * features; ++i) {
      CAPTURE(i);
      CHECK(std::fabs(static_cast<double>((i < features ? net.weight : net.gamma).values()[std::size_t(i % features)]) -
                      expected[std::size_t(i)].p) <= tolerance);
    }
  }
}

}  // namespace rules
