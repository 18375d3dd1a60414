// Ranks divide the moments of optimizers of every kind: those that look at whole parameters, at all gradients, that add
// up batches, whose moments have other shapes, do not begin with zeros, or do not exist.
// label: long
#include <doctest/doctest.h>

#include <tenon/nn/optim/accumulate_gradients.hpp>
#include <tenon/nn/optim/adafactor.hpp>
#include <tenon/nn/optim/adagrad.hpp>
#include <tenon/nn/optim/adam.hpp>
#include <tenon/nn/optim/asgd.hpp>
#include <tenon/nn/optim/clip.hpp>
#include <tenon/nn/optim/lamb.hpp>
#include <tenon/nn/optim/lars.hpp>
#include <tenon/nn/optim/momentum.hpp>
#include <tenon/nn/optim/sgd.hpp>

#include "../support/models.hpp"
#include "shards.hpp"

using namespace support;
using namespace shards;

namespace {
const nn::Adam adam{.learning_rate = 0.01f};

void check(const auto& optimizer, const auto&... parts) {
  check_ranks<Mlp, Shape<20>>({2, 4, 8}, {.samples = 50, .batch = 16, .epochs = 10, .shards = 8}, optimizer, parts...);
}
}  // namespace

TEST_CASE("the norms of a parameter") { check(nn::Lamb{.learning_rate = 0.03f, .weight_decay = 0.01f}); }
TEST_CASE("the norms of a parameter, around another optimizer") {
  check(nn::LARS{nn::Momentum{.learning_rate = 3.0f, .momentum = 0.9f}, {.coefficient = 0.05f}});
}
TEST_CASE("moments of rows and of columns") { check(nn::AdaFactor{.learning_rate = 0.05f}); }
TEST_CASE("moments that begin with another number than 0") { check(nn::Adagrad{.learning_rate = 0.05f}); }
TEST_CASE("averages, and numbers that change with the step") { check(nn::ASGD{.learning_rate = 0.3f}); }
TEST_CASE("no moments") { check(nn::SGD{.learning_rate = 0.3f}); }
TEST_CASE("two groups") {
  check(nn::Adam{.learning_rate = 0.01f,
                 .groups = {{.params = {"*.bias"}, .learning_rate = 0.02f, .weight_decay = 0.01f}}});
}
TEST_CASE("the norm of each gradient, the norm of all, of sums over batches") {
  check(nn::ClipByNorm{adam, 0.1f});
  check(nn::ClipByGlobalNorm{nn::AccumulateGradients{adam, 2}, 0.1f});
}
TEST_CASE("a loss scale that drops updates of sums over batches") {
  check(nn::AccumulateGradients{adam, 2}, amp<AmpLevel::O2, float16>, DynamicLossScaleManager{.scale_window = 3});
}
TEST_CASE("a parameter that is frozen for some steps") {
  const ContextScope scope({.mode = Mode::graph, .num_threads = 1, .seed = 11});
  const auto trained_with = [](int ranks, bool divided) {
    std::vector<Outcome> outcomes(static_cast<std::size_t>(ranks));
    dist::run_ranks(ranks, [&](const dist::Communicator& group) {
      Mlp net;
      Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, nn::ClipByGlobalNorm{adam, 0.1f},
                  dist::DataParallel{.shards = 4, .group = group, .parallel_optimizer = divided}};
      struct Freeze {
        Mlp& net;
        void step_end(RunInfo& run) const { net.fc1.requires_grad(run.cur_step_num % 3 != 1); }
      } freeze{net};
      Outcome& outcome = outcomes[std::size_t(group.rank())];
      model.train(4, bands<Shape<20>>(40) | dataset::batch(16), Losses{outcome.losses}, freeze);
      outcome.take_parameters(net);
      for (const io::NamedTensor& moment : model.optimizer_state())
        outcome.parameters.append(static_cast<const char*>(moment.tensor.data), moment.tensor.bytes());
    });
    for (const Outcome& outcome : outcomes) CHECK(outcome == outcomes[0]);
    return outcomes[0];
  };
  const Outcome alone = trained_with(1, false);
  for (const int ranks : {2, 3}) CHECK(trained_with(ranks, true) == alone);
}
