// Shards of other networks, losses, and batches, and what is wrong.
#include <doctest/doctest.h>

#include <string>

#include <tenon/nn/layer/recurrent/lstm.hpp>
#include <tenon/nn/optim/accumulate_gradients.hpp>
#include <tenon/nn/optim/adam.hpp>

#include "../support/allocations.hpp"
#include "../support/models.hpp"
#include "shards.hpp"

using namespace support;
using namespace shards;

namespace {

using Sequence = Shape<12, 32>;

struct Reader : nn::Cell<Reader> {
  nn::LSTM<32, 16> lstm;
  nn::Dense<16, 4> fc;
  constexpr auto construct(auto x) const {
    const auto [all, h, c] = lstm(x);
    return fc(reduce_mean<1>(all));
  }
};

const nn::Adam adam{.learning_rate = 0.01f};

}  // namespace

TEST_CASE("a transformer that accumulates gradients of two batches, with a loss per sample") {
  check_ranks<Transformer, Sequence, nn::Reduction::none>(
      {3, 8}, {.samples = 46, .batch = 13, .epochs = 8, .shards = 8}, nn::AccumulateGradients{adam, 2});
}
TEST_CASE("an LSTM with fewer samples than shards") {
  check_ranks<Reader, Sequence>({4, 8}, {.samples = 18, .batch = 5, .epochs = 12, .shards = 7}, adam);
}
TEST_CASE("steps allocate nothing") {
  const ContextScope scope({.mode = Mode::graph, .num_threads = 1});
  Mlp net;
  Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, adam, dist::DataParallel{.shards = 4}};
  struct Counter {
    void step_begin(RunInfo& run) { support::counting = run.cur_step_num > 2; }
    void step_end(RunInfo&) { support::counting = false; }
  } counter;
  model.train(3, bands<Shape<20>>(64) | dataset::batch(16), counter);
  CHECK(support::allocations == 0);
}
TEST_CASE("parameters that are frozen meanwhile stay") {
  const ContextScope scope({.mode = Mode::graph, .num_threads = 1});
  const auto trained_frozen = [](Mode mode, auto... parts) {
    const ContextScope in({.mode = mode, .num_threads = 1});
    Mlp net;
    net.init_parameters();
    net.fc1.requires_grad(false);
    const auto frozen = net.fc1.weight.values();
    const std::vector<float> before(frozen.begin(), frozen.end());
    Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, adam, parts...};
    model.train(2, bands<Shape<20>>(64) | dataset::batch(16));
    CHECK(std::equal(before.begin(), before.end(), net.fc1.weight.values().begin()));
    const ParameterList list(net);
    return std::string(reinterpret_cast<const char*>(list.arena()->data), std::size_t(list.bytes()));
  };
  const std::string one = trained_frozen(Mode::graph);
  CHECK(trained_frozen(Mode::graph, dist::DataParallel{.shards = 1}) == one);
  CHECK(trained_frozen(Mode::pynative, dist::DataParallel{.shards = 4}) ==
        trained_frozen(Mode::graph, dist::DataParallel{.shards = 4}));
}
TEST_CASE("ranks that do not train alike say so") {
  const ContextScope scope({.mode = Mode::graph, .num_threads = 1});
  const auto train = [](long batch, bool other_weights) {
    dist::run_ranks(2, [&](const dist::Communicator& group) {
      const bool odd = group.rank() == 1;
      Mlp net;
      net.init_parameters();
      if (odd && other_weights) net.fc2.bias.values()[0] = 1;
      Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, adam, dist::DataParallel{.shards = 2, .group = group}};
      model.train(1, bands<Shape<20>>(64) | dataset::batch(odd ? batch : 16));
    });
  };
  train(16, false);
  CHECK_THROWS_WITH_AS(train(12, false), doctest::Contains("other ranks have batches of another size"), RuntimeError);
  // fewer samples than shards: this rank would send nothing
  CHECK_THROWS_WITH_AS(train(1, false), doctest::Contains("other ranks have batches of another size"), RuntimeError);
  CHECK_THROWS_WITH_AS(train(16, true), doctest::Contains("other ranks have other weights"), RuntimeError);
  CHECK_THROWS_WITH_AS((trained<Mlp, Shape<20>>({16, 16, 1, 0}, adam, dist::DataParallel{.shards = -1})),
                       "DataParallel: shards must be 1 or more, or 0 for one per rank, got -1.", ValueError);
}
TEST_CASE("a stop that one rank requests ends the training on all in the same step") {
  const ContextScope scope({.mode = Mode::graph, .num_threads = 1});
  struct StopOnOne {
    int rank;
    long steps = 0;
    void step_end(RunInfo& run) {
      ++steps;
      if (rank == 1 && steps == 2) run.request_stop();
    }
  };
  dist::run_ranks(2, [&](const dist::Communicator& group) {
    Mlp net;
    Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, adam, dist::DataParallel{.shards = 2, .group = group}};
    StopOnOne stop{group.rank()};
    model.train(2, bands<Shape<20>>(64) | dataset::batch(16), stop);
    REQUIRE(stop.steps == 2);
  });
}
