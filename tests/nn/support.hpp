// Data and loops that the tests of cells share.
#pragma once
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <tenon/dataset/dataset.hpp>
#include <tenon/nn/cell.hpp>
#include <tenon/nn/layer/dense.hpp>
#include <tenon/nn/loss/softmax_cross_entropy.hpp>
#include <tenon/nn/metric/loss.hpp>
#include <tenon/nn/optim/momentum.hpp>
#include <tenon/ops/relu.hpp>
#include <tenon/ops/structural.hpp>
#include <tenon/train/model.hpp>

#include "../support/tensors.hpp"

namespace cells {

using namespace tenon;

inline constexpr Mode modes[]{Mode::graph, Mode::pynative};

/// `count` samples of shape S; the label says in which third of its range the mean of the first eight numbers lies.
template <class S>
auto samples(long count) {
  std::vector<float> x;
  std::vector<std::int32_t> y;
  Random random(7);
  for (long i = 0; i < count; ++i) {
    float sum = 0;
    const float shift = float(i % 3) - 1;
    for (long k = 0; k < S::dims.count(1); ++k) x.push_back(shift + random.uniform(-1, 1)), sum += k < 8 ? x.back() : 0;
    y.push_back(sum < -4 ? 0 : sum < 4 ? 1 : 2);
  }
  return dataset::from_arrays(dataset::column<S>(std::move(x)), dataset::column<Shape<>>(std::move(y)));
}

/// The bytes of all parameters of a network, running statistics among them.
template <class Net>
std::string bits(const Net& net) {
  const ParameterList list(net);
  return std::string(reinterpret_cast<const char*>(list.arena()->data), std::size_t(list.bytes()));
}

inline auto momentum(float rate = 0.05f) { return nn::Momentum{.learning_rate = rate, .momentum = 0.9f}; }

/// Writes down the loss of every step.
struct Losses {
  std::vector<double> value;
  void step_end(RunInfo& run) { value.push_back(run.loss()); }
};

/// What a training left: losses and the bytes of the parameters.
struct Trained {
  std::vector<double> losses;
  std::string bits;
  bool operator==(const Trained&) const = default;
};

/// Trains a new Net for some epochs on batches of 8 of 28 samples of shape S (the last batch is short), with a seed.
template <class Net, class S>
Trained trained(Mode mode, long epochs = 3, std::uint64_t seed = 0, int threads = 1) {
  const ContextScope scope({.mode = mode, .num_threads = threads, .seed = seed});
  Net net;
  Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, momentum()};
  Losses losses;
  model.train(epochs, samples<S>(28) | dataset::batch(8), losses);
  return {losses.value, bits(net)};
}

/// Both modes, with one and two threads, must leave equal bits, and the loss must fall.
template <class Net, class S>
Trained check_training(long epochs = 8) {
  const Trained graph = trained<Net, S>(Mode::graph, epochs);
  CHECK(graph == trained<Net, S>(Mode::pynative, epochs));
  CHECK(graph == trained<Net, S>(Mode::graph, epochs, 0, 2));
  CHECK(graph == trained<Net, S>(Mode::pynative, epochs, 0, 2));
  CHECK(graph.losses.back() < graph.losses.front() / 2);
  return graph;
}

}  // namespace cells
