// What ranks must have alike in each step: ranks that differ hear it before their weights do.
#include <doctest/doctest.h>

#include <optional>
#include <string>

#include <tenon/dataset/operations.hpp>
#include <tenon/nn/layer/dropout.hpp>
#include <tenon/nn/layer/embedding.hpp>
#include <tenon/nn/loss/cross_entropy.hpp>
#include <tenon/nn/optim/accumulate_gradients.hpp>
#include <tenon/nn/optim/adam.hpp>
#include <tenon/nn/optim/clip.hpp>
#include <tenon/nn/optim/momentum.hpp>

#include "../support/models.hpp"
#include "shards.hpp"

using namespace support;
using namespace shards;

namespace {

const nn::Adam adam{.learning_rate = 0.01f};

struct Dropping : nn::Cell<Dropping> {
  nn::Dense<20, 16> fc1;
  nn::Dropout<> drop;
  nn::Dense<16, 4> fc2;
  constexpr auto construct(auto x) const { return fc2(drop(relu(fc1(x)))); }
};
/// Changes something on one rank after the first step of a run.
template <class Change>
struct AfterOneStep {
  bool here;
  Change change;
  void step_end(auto& run) {
    if (here && run.cur_step_num == 1) change(run);
  }
};
}  // namespace
TEST_CASE("ranks that would become different in the middle of a training hear why") {
  const ContextScope scope({.mode = Mode::graph, .num_threads = 1});
  const auto data = bands<Shape<20>>(64) | dataset::batch(16);
  const auto heard = [&](auto optimizer_of, auto change, auto... parts) {
    return both_hear([&](const auto& group, bool odd) {
      Mlp net;
      Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, optimizer_of(odd), parts..., dist::DataParallel{2, group}};
      model.train(1, data, AfterOneStep<decltype(change)>{odd, change});
    });
  };
  const auto nothing = [](auto&) {};
  const auto momentum = [](bool) { return nn::Momentum{.learning_rate = 0.01f, .momentum = 0.9f}; };
  const std::string numbers = " rank 1 has other numbers of the optimizer or the loss scale than rank 0: their weights "
                              "would become different.";
  CHECK(heard(momentum, nothing) == "nothing");
  CHECK(heard([](bool odd) { return nn::Momentum{.learning_rate = 0.01f, .momentum = odd ? 0.8f : 0.9f}; }, nothing) ==
        "Model.train: in step 1" + numbers);
  CHECK(heard([](bool odd) { return nn::ClipByGlobalNorm{adam, odd ? 1.0f : 2.0f}; }, nothing) ==
        "Model.train: in step 1" + numbers);
  CHECK(heard([](bool odd) { return nn::AccumulateGradients{adam, odd ? 2 : 3}; }, nothing) ==
        "Model.train: in step 2" + numbers);
  CHECK(heard(
            [](bool odd) {
              return nn::Adam{.learning_rate = 0.01f,
                              .groups = {{.params = {"*.bias"}, .learning_rate = odd ? 0.1f : 0.2f}}};
            },
            nothing) == "Model.train: in step 1" + numbers);
  CHECK(heard(momentum, [](auto& run) { run.optimizer().weight_decay = 0.1f; }) == "Model.train: in step 2" + numbers);
  CHECK(heard(momentum, [](auto& run) { run.network().fc1.requires_grad(false); }) ==
        "Model.train: in step 2 rank 1 has other frozen parameters, or settings of cells, than rank 0: their weights "
        "would become different.");
  CHECK(heard(momentum, [](auto& run) {  // and back: they are alike
          run.network().fc1.requires_grad(false);
          run.network().fc1.requires_grad(true);
        }) == "nothing");
  CHECK(both_hear([&](const auto& group, bool odd) {
          const auto change = [](auto& run) { run.network().drop.set_rate(0.25f); };
          Dropping net;
          Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, adam, dist::DataParallel{2, group}};
          model.train(1, data, AfterOneStep<decltype(change)>{odd, change});
        }).starts_with("Model.train: in step 2 rank 1 has other frozen parameters, or settings of cells, than rank 0"));
  const auto scaled = [&](float scale) {
    return both_hear([&](const auto& group, bool odd) {
      Mlp net;
      Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, adam,
                  FixedLossScaleManager<true>{.loss_scale = odd ? scale : 4}, dist::DataParallel{2, group}};
      model.train(1, data);
    });
  };
  CHECK(scaled(4) == "nothing");
  CHECK(scaled(8) == "Model.train: in step 1" + numbers);
}
TEST_CASE("ranks whose weights differ before a later run hear it") {
  const ContextScope scope({.mode = Mode::graph, .num_threads = 1});
  const auto heard = [](bool divided) {
    return both_hear([&](const auto& group, bool odd) {
      Mlp net;
      Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, adam, dist::DataParallel{2, group, divided}};
      const auto data = bands<Shape<20>>(64) | dataset::batch(16);
      model.train(1, data);
      model.train(1, data);
      if (odd) net.fc1.bias.values()[0] += 1;  // as by a checkpoint that one rank alone loads
      model.train(1, data);
    });
  };
  for (const bool divided : {false, true})
    CHECK(heard(divided) == "Model.train: rank 1 has other weights than rank 0: give all ranks the same seed and "
                            "checkpoint.");
}
namespace {
struct Tagger : nn::Cell<Tagger> {
  nn::Embedding<11, 8> token;
  nn::Dense<8, 2> fc;
  constexpr auto construct(auto text) const { return fc(token(text)); }
};
auto tagged_texts(long count) {
  using dataset::Column, dataset::Ragged;
  return dataset::generator<dataset::Columns<Column<std::int32_t, Ragged<dataset::any>, "text">,
                                             Column<std::int32_t, Ragged<dataset::any>, "tags">>>(
      count, [](long i, auto text, auto tags) {
        const long length = 1 + i * 7 % 12;
        std::int32_t *const words = text.resize(length), *const tag = tags.resize(length);
        for (long t = 0; t < length; ++t) words[t] = int(1 + (i * 5 + t * t * 3) % 10), tag[t] = words[t] > 5;
      });
}
}  // namespace
TEST_CASE("ranks with batches of different buckets share a loss that is a number, and hear of others") {
  const ContextScope scope({.mode = Mode::graph, .num_threads = 1});
  const auto heard = [](auto loss, auto... shard) {
    return both_hear([&](const auto& group, bool) {
      Tagger net;
      Model model{net, loss, adam, dist::DataParallel{.group = group}};
      model.train(1, (tagged_texts(240) | ... | shard()) | dataset::bucket_batch_by_length<"text", 4, 8, 12>(16));
    });
  };
  const auto dealt = [] { return dataset::shard(); };
  CHECK(heard(nn::CrossEntropyLoss<nn::Reduction::mean>{}, dealt) == "nothing");
  CHECK(heard(nn::CrossEntropyLoss<nn::Reduction::none>{}) == "nothing");
  CHECK(heard(nn::CrossEntropyLoss<nn::Reduction::none>{}, dealt) ==
        "Model.train: in step 1 rank 1 has a batch of another bucket than rank 0, with losses of another shape, or "
        "gradients of other parameters: reduce the loss, as nn::Reduction::mean does, or give all ranks the same data "
        "set.");
}
TEST_CASE("ranks with different seeds hear it, or take that of rank 0") {
  const ContextScope scope({.mode = Mode::graph, .num_threads = 1, .seed = 11});
  const auto train = [](const dist::Communicator& group) {  // Models are made one after the other, each with its seed
    Dropping net;
    net.init_parameters();
    using Shared = Model<Dropping, nn::SoftmaxCrossEntropyWithLogits<>, nn::Adam, ModelOptions{}, dist::DataParallel>;
    std::optional<Shared> model;
    for (int rank = 0; rank < group.size(); ++rank) {
      group.barrier();
      if (rank != group.rank()) continue;
      const ContextScope own({.seed = std::uint64_t(11 + rank)});
      model.emplace(net, nn::SoftmaxCrossEntropyWithLogits{}, adam, dist::DataParallel{.shards = 2, .group = group});
    }
    group.barrier();
    Outcome outcome;
    model->train(1, bands<Shape<20>>(64) | dataset::batch(16), Losses{outcome.losses});
    outcome.take_parameters(net);
    return outcome;
  };
  CHECK(both_hear([&](const auto& group, bool) { train(group); }) ==
        "Model.train: in step 1 rank 1 has another seed of random numbers than rank 0: give all ranks the same one.");
  const Outcome alone = train({});
  set_auto_parallel_context("parameter_broadcast", "True");
  dist::run_ranks(2, [&](const dist::Communicator& group) { REQUIRE(train(group) == alone); });
  reset_auto_parallel_context();
}
