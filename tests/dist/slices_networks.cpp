// Networks in slices: replicas of them, overflow in one slice, frozen slices, heads of attention, mixed precision.
// label: long
#include "slices.hpp"

#include <tenon/nn/layer/norm/layer_norm.hpp>
#include <tenon/nn/optim/adam.hpp>
#include <tenon/nn/optim/clip.hpp>
#include <tenon/nn/optim/lamb.hpp>
#include <tenon/nn/optim/momentum.hpp>
#include <tenon/nn/optim/sgd.hpp>
#include <tenon/ops/attention.hpp>
#include <tenon/ops/gelu.hpp>
#include <tenon/ops/reshape.hpp>
#include <tenon/ops/transpose.hpp>
#include <tenon/train/data_parallel.hpp>

#include "../support/error_of.hpp"

using namespace slices;
using support::bands;

namespace {

const nn::ClipByGlobalNorm clipped{nn::Adam{.learning_rate = 0.01f}, 0.1f};

/// Stops the training on one rank after a step, or at the end of an epoch; 0 is never.
struct StopAt {
  int rank;
  long step = 0, epoch = 0;
  void step_end(tenon::RunInfo& run) {
    if (run.cur_step_num == step) run.request_stop();
  }
  void epoch_end(tenon::RunInfo& run) {
    if (run.cur_epoch_num == epoch) run.request_stop();
  }
};

struct Overflows {
  std::vector<bool>& value;
  void step_end(tenon::RunInfo& run) { value.push_back(run.overflow); }
};

/// Two layers in slices, with nothing before them.
template <int Slices>
struct Pair : nn::Cell<Pair<Slices>> {
  nn::ColumnParallelDense<6, 16, Slices, "slices"> up;
  nn::RowParallelDense<16, 4, Slices, "slices"> down;
  constexpr auto construct(auto x) const { return down(relu(up(x))); }
};

struct TwoGroups : nn::Cell<TwoGroups> {
  nn::ColumnParallelDense<6, 16, 2, "slices"> up;
  nn::RowParallelDense<16, 4, 2, "others"> down;
  constexpr auto construct(auto x) const { return down(up(x)); }
};

/// A block of a transformer: heads of attention, then two layers, each with a residual.
template <int Slices>
struct Block : nn::Cell<Block<Slices>> {
  static constexpr int size = 16, heads = 4, each = size / heads;
  nn::VocabParallelEmbedding<12, size, Slices, "slices"> table;
  nn::LayerNorm<Shape<size>> first, second;
  nn::ColumnParallelDense<size, size, Slices, "slices"> query, key, value;
  nn::RowParallelDense<size, size, Slices, "slices"> out;
  nn::ColumnParallelDense<size, 4 * size, Slices, "slices"> up;
  nn::RowParallelDense<4 * size, size, Slices, "slices"> down;
  nn::Dense<size, 4> head;

  constexpr auto construct(auto ids) const {
    const auto x = table(ids);
    const auto normal = first(x);
    const auto seen = x + out(joined(attention(own(query(normal)), own(key(normal)), own(value(normal)))));
    return head(reduce_mean<1>(seen + down(gelu(up(second(seen))))));
  }

 private:
  // The heads of this rank: [n, heads, words, each].
  static constexpr auto own(const auto& x) {
    return transpose<0, 2, 1, 3>(reshape<Shape<dyn, 6, heads / Slices, each>>(x));
  }
  static constexpr auto joined(const auto& x) {
    return reshape<Shape<dyn, 6, size / Slices>>(transpose<0, 2, 1, 3>(x));
  }
};

}  // namespace

TEST_CASE("slices and replicas: the bits depend on the numbers of slices and shards, not on that of replicas") {
  const auto data = sentences(72) | dataset::batch(16);  // the last batch has 8
  const auto train = [&]<class Net>(std::type_identity<Net>, const dist::Communicator& replicas, bool divided = false) {
    return trained<Net>(data, 4, clipped, FixedLossScaleManager<true>{.loss_scale = 4},
                        dist::DataParallel{.shards = 4, .group = replicas, .parallel_optimizer = divided});
  };
  const auto in_slices = [&](Mode mode, int replicas, bool divided = false) {
    return trained_in_slices<2>(mode, replicas, [&](const dist::Communicator& group) {
      return train(std::type_identity<Words<2>>(), group, divided);
    });
  };
  const Trained two = in_slices(Mode::graph, 1);
  for (const int replicas : {2, 3}) {
    CHECK(in_slices(Mode::graph, replicas) == two);
    CHECK(in_slices(Mode::pynative, replicas) == two);
    CHECK(in_slices(Mode::graph, replicas, true) == two);  // and with the moments divided among replicas
  }
  const ContextScope scope({.mode = Mode::graph, .num_threads = 1, .seed = 11});
  const Trained whole = train(std::type_identity<Words<1>>(), {});
  const Trained four = trained_in_slices<4>(
      Mode::graph, 2, [&](const dist::Communicator& group) { return train(std::type_identity<Words<4>>(), group); });
  MESSAGE("distances after " << whole.losses.size() << " steps: " << distance(whole, two) << ", "
                             << distance(whole, four));
  CHECK(distance(whole, two) < 1e-5);
  CHECK(distance(whole, four) < 1e-5);
}

TEST_CASE("an overflow in one slice skips the step on all ranks") {
  const auto data = bands<Shape<6>>(32) | dataset::batch(16);
  for (const Mode mode : {Mode::graph, Mode::pynative}) {
    const ContextScope scope({.mode = mode, .num_threads = 1, .seed = 11});
    dist::run_ranks(2, [&](const dist::Communicator& ranks) {
      dist::create_mesh({{"slices", 2}});
      Pair<2> net;
      net.init_parameters();
      // gradients of the hidden units of rank 1 overflow, those of rank 0 and the loss do not
      if (ranks.rank() == 1)
        for (float& weight : net.down.weight.values()) weight *= 1e35f;
      const std::vector<float> before(net.up.weight.values().begin(), net.up.weight.values().end());
      Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, nn::Momentum{.learning_rate = 0.1f, .momentum = 0.9f},
                  FixedLossScaleManager<true>{.loss_scale = 65536}};
      std::vector<bool> overflowed;
      Overflows record{overflowed};
      model.train(1, data, record);
      REQUIRE(overflowed == std::vector<bool>{true, true});
      REQUIRE(std::equal(before.begin(), before.end(), net.up.weight.values().begin()));
    });
  }
}
TEST_CASE("a norm over all slices leaves out frozen parameters") {
  const auto data = bands<Shape<6>>(32) | dataset::batch(16);
  const auto train = [&]<int Slices>(std::integral_constant<int, Slices>, Mode mode) {
    const ContextScope scope({.mode = mode, .num_threads = 1, .seed = 11});
    std::vector<float> bias;
    const auto run = [&] {
      Pair<Slices> net;
      net.init_parameters();
      net.up.weight.requires_grad(false);
      Model model{net, nn::SoftmaxCrossEntropyWithLogits{},
                  nn::ClipByGlobalNorm{nn::SGD{.learning_rate = 1.0f}, 0.01f}};
      model.train(2, data);
      const auto values = net.down.bias.values();
      if (Slices == 1 || dist::get_rank() == 0) bias.assign(values.begin(), values.end());
    };
    if constexpr (Slices == 1) run();
    else
      dist::run_ranks(Slices, [&](const dist::Communicator&) {
        dist::create_mesh({{"slices", Slices}});
        run();
      });
    return bias;
  };
  const auto whole = train(std::integral_constant<int, 1>(), Mode::graph);
  for (const Mode mode : {Mode::graph, Mode::pynative}) {
    const auto two = train(std::integral_constant<int, 2>(), mode);
    for (std::size_t i = 0; i < whole.size(); ++i) CHECK(two[i] == doctest::Approx(whole[i]).epsilon(1e-6));
  }
}
TEST_CASE("a block of a transformer with its heads in slices") {
  const auto data = sentences(64) | dataset::batch(16);
  const ContextScope scope({.mode = Mode::graph, .num_threads = 1, .seed = 11});
  const auto losses = [&]<int Slices>(std::integral_constant<int, Slices>, Mode mode) {
    const ContextScope scope({.mode = mode, .num_threads = 1, .seed = 11});
    std::vector<Trained> all(Slices);
    const auto run = [&](int rank) {
      all[std::size_t(rank)] = trained<Block<Slices>>(data, 4, nn::Adam{.learning_rate = 0.01f});
    };
    if constexpr (Slices == 1) run(0);
    else
      dist::run_ranks(Slices, [&](const dist::Communicator& ranks) {
        dist::create_mesh({{"slices", Slices}});
        run(ranks.rank());
      });
    for (const Trained& one : all) {
      CHECK(one.losses == all[0].losses);
      CHECK(one.values.at("first.gamma") == all[0].values.at("first.gamma"));
      CHECK(one.values.at("head.weight") == all[0].values.at("head.weight"));
    }
    return all[0].losses;
  };
  const auto whole = losses(std::integral_constant<int, 1>(), Mode::graph);
  const auto two = losses(std::integral_constant<int, 2>(), Mode::graph);
  const auto four = losses(std::integral_constant<int, 4>(), Mode::graph);
  CHECK(losses(std::integral_constant<int, 4>(), Mode::pynative) == four);
  CHECK(whole.back() < 0.7 * whole.front());
  for (std::size_t step = 0; step < whole.size(); ++step) {
    CHECK(two[step] == doctest::Approx(whole[step]).epsilon(1e-5));
    CHECK(four[step] == doctest::Approx(whole[step]).epsilon(1e-5));
  }
}
TEST_CASE("mixed precision has equal bits in both modes, and a loss scale that all ranks have") {
  const auto data = sentences(64) | dataset::batch(16);
  const auto train = [&](Mode mode) {
    return trained_in_slices<2>(mode, 1, [&](const auto&) {
      return trained<Words<2>>(data, 4, nn::ClipByNorm{nn::Adam{.learning_rate = 0.01f}, 0.1f},
                               amp<AmpLevel::O2, float16>,
                               DynamicLossScaleManager{.init_loss_scale = 16777216 * 16.f, .scale_window = 3});
    });
  };
  const Trained graph = train(Mode::graph);
  CHECK(graph.losses.back() < 0.95 * graph.losses.front());
  CHECK(graph.losses[0] == graph.losses[4]);  // the first updates were skipped
  CHECK(train(Mode::pynative) == graph);
}

TEST_CASE("a stop that one rank of a network in slices requests ends the training on all, in the same step") {
  const auto data = bands<Shape<6>>(48) | dataset::batch(16);  // 3 steps in an epoch
  const auto steps = [&]<int Slices>(std::integral_constant<int, Slices>, Mode mode, int replicas, StopAt stop) {
    const ContextScope scope({.mode = mode, .num_threads = 1, .seed = 11});
    std::vector<long> all(std::size_t(Slices * replicas));
    dist::run_ranks(Slices * replicas, [&](const dist::Communicator& ranks) {
      dist::create_mesh({{"replicas", replicas}, {"slices", Slices}});
      StopAt own = stop;
      if (ranks.rank() != stop.rank) own.step = own.epoch = 0;
      Pair<Slices> net;
      const auto train = [&](const auto&... parts) {
        Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, nn::SGD{.learning_rate = 0.1f}, parts...};
        model.train(4, data, own);
        model.train(1, data);  // which compares where the ranks are
        all[std::size_t(ranks.rank())] = model.global_step();
      };
      if (replicas == 1) train();
      else train(dist::DataParallel{.group = dist::communicator("replicas")});
    });
    for (const long one : all) CHECK(one == all[0]);
    return all[0];
  };
  const std::integral_constant<int, 1> one;
  const std::integral_constant<int, 2> two;
  const std::integral_constant<int, 4> four;
  for (const Mode mode : {Mode::graph, Mode::pynative}) {
    CHECK(steps(one, mode, 1, {.rank = 0, .step = 4}) == steps(two, mode, 1, {.rank = 1, .step = 4}));
    CHECK(steps(two, mode, 1, {.rank = 0, .step = 5}) == 8);  // 5, and an epoch
    CHECK(steps(four, mode, 1, {.rank = 2, .step = 5}) == 8);
    CHECK(steps(four, mode, 1, {.rank = 3, .epoch = 2}) == 9);
    CHECK(steps(two, mode, 2, {.rank = 3, .step = 5}) == 8);
    CHECK(steps(two, mode, 2, {.rank = 1, .epoch = 2}) == 9);
    CHECK(steps(two, mode, 2, {.rank = -1}) == 15);
  }
}
TEST_CASE("ranks of a network in slices that differ hear what it is, all of them") {
  const auto heard = [](auto run) {
    const ContextScope scope({.mode = Mode::graph, .num_threads = 1, .seed = 11});
    std::vector<std::string> all(4);
    dist::run_ranks(4, [&](const dist::Communicator& ranks) {
      dist::create_mesh({{"replicas", 2}, {"slices", 2}});
      all[std::size_t(ranks.rank())] = support::error_of([&] { run(ranks.rank() % 2 == 1); });
    });
    for (const std::string& one : all) CHECK(one == all[0]);
    return all[0];
  };
  const auto check = [&](const auto&... parts) {
    const auto train = [&](const auto& data, auto optimizer, auto change, long epochs = 1) {
      Pair<2> net;
      net.init_parameters();
      change(net);
      Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, optimizer, parts()...};
      model.train(epochs, data | dataset::batch(16));
    };
    const auto nothing = [](auto&) {};
    const auto data = bands<Shape<6>>(32);
    const nn::SGD sgd{.learning_rate = 0.1f};
    const std::string rank = " rank 1 of the group 'slices' has ", who = "Model.train: in step 1" + rank,
                      all = " than rank 0: the ranks of a network in slices need the same ";
    CHECK(heard([&](bool) { train(data, sgd, nothing); }) == "nothing");
    CHECK(heard([&](bool odd) {
            train(bands<Shape<6>>(odd ? 32 : 33), sgd, nothing);
          }).starts_with("Model.train:" + rank + "another number of batches" + all + "batches. If replicas have"));
    CHECK(heard([&](bool odd) {
            train(bands<Shape<6>>(32, odd ? 7 : 8), sgd, nothing);
          }).starts_with(who + "other samples" + all + "batches. If replicas have shards"));
    CHECK(heard([&](bool odd) {
            train(bands<Shape<6>>(odd ? 8 : 16), sgd, nothing);
          }).starts_with(who + "other samples" + all + "batches."));
    CHECK(heard([&](bool odd) { train(data, sgd, nothing, odd ? 1 : 2); }) ==
          "Model.train:" + rank + "another number of epochs" + all + "one.");
    CHECK(heard([&](bool odd) { train(data, sgd, [&](Pair<2>& net) { net.down.bias.values()[0] = odd; }); }) ==
          who + "other weights where they are not in slices" + all + "seed, or files of one moment.");
    CHECK(heard([&](bool odd) {  // before a later run, too
            Pair<2> net;
            Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, sgd, parts()...};
            model.train(1, data | dataset::batch(16));
            if (odd) net.down.bias.values()[0] += 1;
            model.train(1, data | dataset::batch(16));
          }) == "Model.train: in step 3" + rank + "other weights where they are not in slices" + all +
                    "seed, or files of one moment.");
    CHECK(heard([&](bool odd) { train(data, nn::SGD{.learning_rate = odd ? 0.1f : 0.2f}, nothing); }) ==
          who + "another learning rate" + all + "one.");
    CHECK(heard([&](bool odd) {
            train(data, nn::SGD{.learning_rate = 0.1f, .weight_decay = odd ? 0.1f : 0.2f}, nothing);
          }) == who + "other numbers of the optimizer or the loss scale" + all + "ones.");
    CHECK(heard([&](bool odd) { train(data, sgd, [&](Pair<2>& net) { net.up.weight.requires_grad(!odd); }); }) ==
          "Model.train: the ranks have different models: rank 0 has the parameter up.weight float32 [8,6], one of "
          "2 slices of axis 0, rank 1 has the parameter up.weight float32 [8,6], which is frozen, one of 2 slices "
          "of axis 0. Give all ranks the same network, optimizer, and DataParallel.");
    CHECK(heard([&](bool odd) {
            if (odd) train(data, nn::Momentum{.learning_rate = 0.1f, .momentum = 0.9f}, nothing);
            else train(data, sgd, nothing);
          }) == "Model.train: the ranks have different models: rank 0 has the optimizer SGD, rank 1 has the optimizer "
                "Momentum. Give all ranks the same network, optimizer, and DataParallel.");
  };
  check();
  check([] { return dist::DataParallel{.group = dist::communicator("replicas")}; });
}
TEST_CASE("an optimizer that looks at whole parameters, and slices of two groups, are mistakes of the program") {
  const auto sentence = []<class Net, class Optimizer>(std::type_identity<Net>, const Optimizer&) {
    using X = tenon::detail::KeyFor<Tensor<float, Shape<dyn, 6>>>::type;
    using Y = tenon::detail::KeyFor<Tensor<std::int32_t, Shape<dyn>>>::type;
    using Step = tenon::detail::TrainStep<Net, nn::SoftmaxCrossEntropyWithLogits<>, Optimizer, X, Y>;
    return std::string(Compiled<Step>::sentence.view());
  };
  CHECK(sentence(std::type_identity<Pair<2>>(), nn::Lamb{.learning_rate = 0.1f}) ==
        "network.up.weight: Lamb looks at a whole parameter, of which each rank has a slice: take another optimizer, "
        "such as "
        "nn::AdamWeightDecay");
  CHECK(sentence(std::type_identity<TwoGroups>(), nn::SGD{.learning_rate = 0.1f}) ==
        "network: the parameters of a network are in slices of two groups: a Model needs them in one");
}
TEST_CASE("outputs of a column-parallel layer, and rows of a table, are those of a whole layer in bits") {
  const ContextScope scope({.mode = Mode::graph, .num_threads = 1, .seed = 11});
  const auto outputs = []<int Slices>(std::integral_constant<int, Slices>) {
    const Words<Slices> net;
    auto ids = Tensor<std::int32_t, Shape<dyn, 6>>::zeros(5);
    for (long i = 0; i < ids.count(); ++i) ids.data()[i] = std::int32_t(i * 7 % 12);
    const auto words = net.table(ids);
    const auto wide = net.up(words);
    const auto last = net.last(reduce_mean<1>(words));
    std::vector<std::vector<float>> all;
    for (const AnyTensor& one : {words.view(), wide.view(), last.view()})
      all.emplace_back(one.as<float>().begin(), one.as<float>().end());
    return all;
  };
  const auto whole = outputs(std::integral_constant<int, 1>());
  dist::run_ranks(4, [&](const dist::Communicator& ranks) {
    dist::create_mesh({{"slices", 4}});
    const auto own = outputs(std::integral_constant<int, 4>());
    REQUIRE(own[0] == whole[0]);
    REQUIRE(own[2] == whole[2]);
    for (std::size_t row = 0; row < 30; ++row)
      REQUIRE(std::equal(own[1].begin() + std::ptrdiff_t(row * 8), own[1].begin() + std::ptrdiff_t(row * 8 + 8),
                         whole[1].begin() + std::ptrdiff_t(row * 32) + ranks.rank() * 8));
  });
}
