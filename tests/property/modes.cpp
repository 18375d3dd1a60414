// flags: -O2
// Equal bits: in both modes, on any number of threads, with any pass off, and in a second run; and the loss falls.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

#include <tenon/dataset/dataset.hpp>
#include <tenon/nn/metric/accuracy.hpp>
#include <tenon/train/model.hpp>

#include "../support/models.hpp"
#include "../support/outcome.hpp"

using namespace support;
using namespace tenon;

namespace {

constexpr ModelOptions both{};
constexpr ModelOptions graph_with(Passes passes) { return {true, false, passes}; }

template <class Net, class Image, ModelOptions options = both>
Outcome trained(Mode mode, int threads = 1, long samples = 50, long batch = 16, long epochs = 5) {
  const ContextScope scope({.mode = mode, .num_threads = threads, .seed = 11});
  Net net;
  Model model{WithOptions<options>{}, net, nn::SoftmaxCrossEntropyWithLogits{},
              nn::Momentum{.learning_rate = 0.05f, .momentum = 0.9f, .weight_decay = 1e-4f}};
  return trained_on_bands<Image>(model, epochs, samples, batch);
}

template <class Net, class Image>
void check_all_ways() {
  const Outcome graph = trained<Net, Image>(Mode::graph);
  REQUIRE(graph.losses.size() == 20);
  CHECK(graph.losses.back() < graph.losses.front() / 2);  // two dead networks are equal, too
  CHECK(trained<Net, Image>(Mode::graph) == graph);
  for (int threads : {1, 2, 3}) {
    CAPTURE(threads);
    CHECK(trained<Net, Image>(Mode::graph, threads) == graph);
    CHECK(trained<Net, Image>(Mode::pynative, threads) == graph);
  }
  CHECK(trained<Net, Image, graph_with({.fold = false})>(Mode::graph) == graph);
  CHECK(trained<Net, Image, graph_with({.simplify = false})>(Mode::graph) == graph);
  CHECK(trained<Net, Image, graph_with({.share = false})>(Mode::graph) == graph);
  CHECK(trained<Net, Image, graph_with({.prune = false})>(Mode::graph) == graph);
  CHECK(trained<Net, Image, graph_with({.fuse = false})>(Mode::graph) == graph);
  CHECK(trained<Net, Image, graph_with({.fuse_update = false})>(Mode::graph) == graph);
  CHECK(trained<Net, Image, graph_with({.early_update = false})>(Mode::graph) == graph);
  CHECK(trained<Net, Image, graph_with({.sink = false})>(Mode::graph) == graph);
  CHECK(trained<Net, Image, graph_with({.rematerialise = false})>(Mode::graph) == graph);
  CHECK(trained<Net, Image, graph_with({.in_place = false})>(Mode::graph) == graph);
  CHECK(trained<Net, Image, graph_with({.layout = false})>(Mode::graph) == graph);
  CHECK(trained<Net, Image, graph_with({.tile = false})>(Mode::graph) == graph);
  CHECK(trained<Net, Image, graph_with(no_passes)>(Mode::graph, 2) == graph);
}

int construct_calls = 0;

/// Counts how often its construct runs at run time.
struct Counting : nn::Cell<Counting> {
  nn::Dense<20, 4> fc;
  constexpr auto construct(auto x) const {
    if (!std::is_constant_evaluated()) ++construct_calls;
    return fc(x);
  }
};
}  // namespace

TEST_CASE("LeNet: equal bits in every way to run 20 steps") { check_all_ways<LeNet, Shape<1, 28, 28>>(); }

TEST_CASE("LeNet: equal bits for any batch, on any number of threads, in both modes") {
  for (const long n : {1, 7, 8, 9, 15, 16, 17, 24, 33, 48, 72, 137}) {
    CAPTURE(n);
    const Outcome one = trained<LeNet, Shape<1, 28, 28>>(Mode::pynative, 1, n, n, 2);
    for (const int threads : {1, 2, 3, 4, 16}) {
      CAPTURE(threads);
      CHECK(trained<LeNet, Shape<1, 28, 28>>(Mode::graph, threads, n, n, 2) == one);
      CHECK(trained<LeNet, Shape<1, 28, 28>>(Mode::pynative, threads, n, n, 2) == one);
    }
  }
}

TEST_CASE("LeNet: a pixel that is NaN reaches the loss, wherever it stands, in both modes") {
  for (const Mode mode : {Mode::graph, Mode::pynative})
    for (const long row : {13, 14})
      for (const long column : {13, 14}) {
        CAPTURE(row);
        CAPTURE(column);
        const ContextScope scope({.mode = mode, .num_threads = 1, .seed = 11});
        LeNet net;
        Model model{WithOptions<both>{}, net, nn::SoftmaxCrossEntropyWithLogits{},
                    nn::Momentum{.learning_rate = 0.05f, .momentum = 0.9f, .weight_decay = 1e-4f}};
        std::vector<double> losses;
        Losses seen{losses};
        const auto data = bands<Shape<1, 28, 28>>(16, row * 28 + column) | dataset::batch(16);
        CHECK_THROWS_WITH_AS(model.train(1, data, seen), doctest::Contains("the loss is NaN at epoch 1, step 1"),
                             ValueError);
      }
}

TEST_CASE("batch normalization, dropout, and a residual: equal bits in every way to run 20 steps") {
  check_all_ways<SmallResNet, Shape<3, 8, 8>>();
}

TEST_CASE("another seed gives other bits") {
  const Outcome first = trained<SmallResNet, Shape<3, 8, 8>>(Mode::graph);
  const ContextScope scope({.mode = Mode::graph, .seed = 12});
  SmallResNet net;
  Model model{WithOptions<both>{}, net, nn::SoftmaxCrossEntropyWithLogits{},
              nn::Momentum{.learning_rate = 0.05f, .momentum = 0.9f, .weight_decay = 1e-4f}};
  std::vector<double> losses;
  model.train(1, bands<Shape<3, 8, 8>>(50) | dataset::batch(16), Losses{losses});
  CHECK(losses[0] != first.losses[0]);
}

TEST_CASE("construct runs once per step in PyNative mode, never in graph mode") {
  const auto data = bands<Shape<20>>(24) | dataset::batch(8);
  for (Mode mode : {Mode::graph, Mode::pynative}) {
    const ContextScope scope({.mode = mode});
    Counting net;
    Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, nn::Momentum{.learning_rate = 0.1f, .momentum = 0.9f},
                nn::Accuracy{}};
    construct_calls = 0;
    model.train(2, data);
    CHECK(construct_calls == (mode == Mode::graph ? 0 : 6));
    model.eval(data);
    CHECK(construct_calls == (mode == Mode::graph ? 0 : 9));
    model.predict(Tensor<float, Shape<dyn, 20>>::full(1, 2));
    CHECK(construct_calls == (mode == Mode::graph ? 0 : 10));
  }
}

TEST_CASE("predictions of a batch are those of its samples, in both modes") {
  LeNet net;
  for (const long n : {13, 16, 24, 25})
    for (Mode mode : {Mode::graph, Mode::pynative}) {
      CAPTURE(n);
      Tensor<float, Shape<dyn, 1, 28, 28>> images = Tensor<float, Shape<dyn, 1, 28, 28>>::empty(n),
                                           one = Tensor<float, Shape<dyn, 1, 28, 28>>::empty(1);
      Random random(5);
      for (float& v : images.values()) v = random.uniform(-1, 1);
      const ContextScope scope({.mode = mode, .num_threads = 2});
      Model model{net};
      const auto all = model.predict(images);
      for (long i = 0; i < n; ++i) {
        std::memcpy(one.data(), images.data() + i * 784, 784 * sizeof(float));
        const auto single = model.predict(one);
        CHECK(std::memcmp(single.data(), all.data() + i * 10, 10 * sizeof(float)) == 0);
      }
    }
}
