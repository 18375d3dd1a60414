// LeNet-5 learns the real MNIST: 98.5 % after three epochs, with equal weights in both modes and on any number of
// threads.
// label: long
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include <tenon/dataset/dataset.hpp>
#include <tenon/nn/metric/accuracy.hpp>
#include <tenon/train/model.hpp>

#include "../support/models.hpp"
#include "../support/shared.hpp"
#include "small.hpp"

using namespace tenon;

namespace {

/// What a training leaves: the parameters after each epoch, and the accuracy on the 10,000 test images.
struct Outcome {
  std::vector<std::string> weights;
  double accuracy = 0;
};

Outcome trained(Mode mode, int threads, int epochs) {
  const ContextScope scope({.mode = mode, .num_threads = threads, .seed = 1});
  struct Keep {
    const support::LeNet& net;
    std::vector<std::string>& weights;
    void epoch_end(RunInfo&) { weights.push_back(small::bits(net)); }
  };
  const std::string folder = support::real_mnist();
  const auto train = dataset::Mnist(folder, dataset::Usage::train) | dataset::shuffle(60000, 1) | dataset::batch(32);
  const auto test = dataset::Mnist(folder, dataset::Usage::test) | dataset::batch(32);
  support::LeNet net;
  Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, nn::Momentum{.learning_rate = 0.01f, .momentum = 0.9f},
              nn::Accuracy{}};
  Outcome outcome;
  model.train(epochs, train, Keep{net, outcome.weights});
  outcome.accuracy = model.eval(test)["accuracy"];
  MESSAGE(tenon::name(mode), ", ", threads, " threads, ", epochs, " epochs: accuracy ", outcome.accuracy);
  return outcome;
}

}  // namespace

TEST_CASE("MNIST: LeNet-5 in both modes, on 1, 2, and 3 threads") {
  if (support::real_mnist().empty()) return;
  const Outcome graph = trained(Mode::graph, 1, 3), pynative = trained(Mode::pynative, 1, 3);
  REQUIRE(graph.weights.size() == 3);
  CHECK(graph.accuracy >= 0.985);
  CHECK(pynative.accuracy == graph.accuracy);
  CHECK((pynative.weights == graph.weights));
  for (const Mode mode : {Mode::graph, Mode::pynative})
    for (const int threads : {1, 2, 3}) {  // 1: a second run
      CAPTURE(tenon::name(mode));
      CAPTURE(threads);
      CHECK((trained(mode, threads, 1).weights.at(0) == graph.weights[0]));
    }
}
