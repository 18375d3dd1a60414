// Compares a training with an optimizer's rule, written out in double beside it: gradients are known numbers.
#pragma once
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include <doctest/doctest.h>

#include <tenon/train/checkpoint.hpp>

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

/// The state of a whole parameter in double, and a rule for it.
using States = std::vector<State>;
using WholeRule = std::function<void(States&, const std::vector<double>& gradient, double rate, int t)>;

/// Its loss is the sum of x * weight, of as many elements as an optimizer that needs norms cuts into several pieces.
template <class T, class S>
struct Wide : nn::Cell<Wide<T, S>> {
  Parameter<T, S, nn::Zero{}> weight;
  constexpr auto construct(auto x) const { return ops::reduce_sum(ops::mul(x, weight)); }
};
template <class S>
constexpr long elements_of = type_of<float, S>.count(1);
template <class T, class S>
auto wide_rows(long steps) {
  std::vector<T> x;
  for (long i = 0; i < steps * elements_of<S>; ++i) x.push_back(T(float(i * 37 % 101 - 50) / 32));
  return dataset::from_arrays(dataset::column<S>(x)) | dataset::batch(1);
}

/// The bytes of all parameters and of the optimizer's state.
template <class N, class M>
std::string all_bits(const N& net, const M& model) {
  std::string bits;
  for (const auto& list : {named_parameters(net), model.optimizer_state()})
    for (const auto& [key, tensor] : list) bits.append(static_cast<const char*>(tensor.data), tensor.bytes());
  return bits;
}

/// Compares every element behind 3 steps with the rule.
template <class T, class S>
void compare_with_rule(const Wide<T, S>& net, const WholeRule& rule, const nn::LearningRate& rate, States states,
                       double tolerance) {
  int t = 0;
  for (const auto& row : wide_rows<T, S>(3)) {
    const auto values = row.template values<0>();
    ++t;
    rule(states, std::vector<double>(values.begin(), values.end()), rate.at(t - 1), t);
  }
  double worst = 0;
  for (std::size_t i = 0; i < states.size(); ++i) {
    const double error = std::fabs(static_cast<double>(net.weight.values()[i]) - states[i].p);
    if (!(error <= worst)) worst = std::isnan(error) ? INFINITY : error;
  }
  CHECK(worst <= tolerance);
}

#if defined(TENON_TARGET)
inline constexpr std::string_view targets[]{Cpu::name, OtherTarget::name};
inline constexpr bool other_has_bits_of_cpu = requires { requires OtherTarget::has_bits_of_cpu; };
#else
inline constexpr bool other_has_bits_of_cpu = false;
inline constexpr std::string_view targets[]{Cpu::name};
#endif

/// Trains 3 steps with the optimizer on 1 and on 3 threads in both modes, compares every element with the rule, and the
/// bits of a target with each other, and with those of the CPU where the target promises them.
template <class T, class S, class Optimizer>
void check_whole_rule(const Optimizer& optimizer, const WholeRule& rule, double tolerance) {
  std::string first;
  for (const std::string_view target : targets) {
    if constexpr (!other_has_bits_of_cpu) first.clear();
    for (const Mode mode : modes)
      for (const int threads : {1, 3}) {
        const ContextScope scope({.mode = mode, .device_target = target, .num_threads = threads});
        Wide<T, S> net;
        Model model{net, NoLoss{}, optimizer};
        States states;
        for (std::size_t i = 0; i < std::size_t(elements_of<S>); ++i) {
          const float start = 0.5f - 0.25f * float(i % 6);
          net.weight.values()[i] = T(start);
          states.push_back({static_cast<double>(start)});
        }
        model.train(1, wide_rows<T, S>(3));
        const std::string bits = all_bits(net, model);
        if (first.empty()) compare_with_rule(net, rule, optimizer.learning_rate, states, tolerance);
        else CHECK(bits == first);
        first = bits;
      }
  }
}

/// A step whose gradient overflows changes neither parameters nor state, in both modes.
template <class Optimizer>
void check_overflow_skips(const Optimizer& optimizer) {
  for (const Mode mode : modes) {
    const ContextScope scope({.mode = mode});
    Wide<float, Shape<8, 4>> net;
    Model model{net, NoLoss{}, optimizer, FixedLossScaleManager{.loss_scale = 0x1p126f}};
    std::vector<float> x(32, 8.0f);
    const std::string before = all_bits(net, model);
    model.train(1, dataset::from_arrays(dataset::column<Shape<8, 4>>(x)) | dataset::batch(1));
    CHECK(all_bits(net, model) == before);
    x.assign(32, 0.25f);
    model.train(1, dataset::from_arrays(dataset::column<Shape<8, 4>>(x)) | dataset::batch(1));
    CHECK(all_bits(net, model) != before);
  }
}

}  // namespace rules
