// Shards of other networks, losses, and batches, and what is wrong.
#include <doctest/doctest.h>

#include <string>

#include <tenon/dataset/sampler/shard.hpp>
#include <tenon/dataset/sampler/subset_sampler.hpp>
#include <tenon/dist/mpi.hpp>
#include <tenon/nn/optim/accumulate_gradients.hpp>
#include <tenon/nn/optim/adam.hpp>

#include "../support/allocations.hpp"
#include "../support/error_of.hpp"
#include "../support/models.hpp"
#include "../support/printed.hpp"
#include "reader.hpp"
#include "shards.hpp"

using namespace support;
using namespace shards;

namespace {

using Sequence = Shape<12, 32>;

const nn::Adam adam{.learning_rate = 0.01f};

}  // namespace

TEST_CASE("a transformer that accumulates gradients of two batches, with a loss per sample") {
  check_ranks<Transformer, Sequence, nn::Reduction::none>(
      {3, 8}, {.samples = 46, .batch = 13, .epochs = 8, .shards = 8}, nn::AccumulateGradients{adam, 2});
}
TEST_CASE("an LSTM with fewer samples than shards") {
  check_ranks<Reader<32>, Sequence>({4, 8}, {.samples = 18, .batch = 5, .epochs = 12, .shards = 7}, adam);
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
namespace {
template <class Net = Mlp, class Optimizer = nn::Adam>
void train_on(const dist::Communicator& group, long samples, long batch, long epochs = 1, int shards = 2,
              const Optimizer& optimizer = {.learning_rate = 0.01f}, auto... change) {
  Net net;
  net.init_parameters();
  (change(net), ...);
  Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, optimizer, dist::DataParallel{shards, group}};
  model.train(epochs, bands<Shape<20>>(samples) | dataset::batch(batch));
}

/// Batches of which the last ones do not come.
template <class D>
struct Ending {
  using columns = typename D::columns;
  static constexpr bool batched = true;
  D data;
  long said, most;
  long size() const { return said; }
  long max_rows() const { return data.max_rows(); }
  struct Iterator {
    decltype(std::declval<const D&>().open()) rows;
    long most, given = 0;
    void start(std::uint64_t epoch) { rows.start(epoch), given = 0; }
    auto next() { return given++ < most ? rows.next() : nullptr; }
  };
  Iterator open() const { return {data.open(), most}; }
};

struct Wider : nn::Cell<Wider> {
  nn::Dense<20, 64> fc1;
  nn::Dense<64, 40> fc2;
  nn::Dense<40, 4> fc3;
  constexpr auto construct(auto x) const { return fc3(relu(fc2(relu(fc1(x))))); }
};
struct Single : nn::Cell<Single> {
  nn::Dense<20, 64> fc1;
  constexpr auto construct(auto x) const { return fc1(x); }
};
}  // namespace

TEST_CASE("ranks with different models hear in what they differ") {
  const ContextScope scope({.mode = Mode::graph, .num_threads = 1});
  const std::string alike = ". Give all ranks the same network, optimizer, and DataParallel.";
  CHECK(both_hear([](const auto& group, bool) { train_on(group, 64, 16); }) == "nothing");
  CHECK(both_hear([](const auto& group, bool odd) {
          if (odd) train_on<Wider>(group, 64, 16);
          else train_on(group, 64, 16);
        }) == "Model.train: the ranks have different models: rank 0 has the parameter fc2.weight float32 [32,64], rank "
              "1 has the "
              "parameter fc2.weight float32 [40,64]" +
                  alike);
  CHECK(both_hear([](const auto& group, bool odd) {
          if (odd) train_on<Single>(group, 64, 16);
          else train_on<Wider>(group, 64, 16);
        }) == "Model.train: the ranks have different models: rank 0 has the parameter fc2.weight float32 [40,64], rank "
              "1 has no "
              "further parameter" +
                  alike);
  CHECK(both_hear([](const auto& group, bool odd) { train_on(group, 64, 16, 1, odd ? 4 : 2); }) ==
        "Model.train: the ranks have different models: rank 0 has the optimizer Adam and 2 shards, rank 1 has the "
        "optimizer "
        "Adam and 4 shards" +
            alike);
  CHECK(both_hear([](const auto& group, bool odd) {
          if (odd) train_on(group, 64, 16, 1, 2, nn::Momentum{.learning_rate = 0.01f, .momentum = 0.9f});
          else train_on(group, 64, 16);
        }) == "Model.train: the ranks have different models: rank 0 has the optimizer Adam and 2 shards, rank 1 has "
              "the optimizer "
              "Momentum and 2 shards" +
                  alike);
  CHECK(both_hear([](const auto& group, bool odd) {
          train_on(group, 64, 16, 1, 2, adam, [odd](Mlp& net) { net.fc1.requires_grad(!odd); });
        }) == "Model.train: the ranks have different models: rank 0 has the parameter fc1.weight float32 [64,20], rank "
              "1 has the "
              "parameter fc1.weight float32 [64,20], which is frozen" +
                  alike);
  CHECK(both_hear([](const auto& group, bool odd) {
          train_on(group, 64, 16, 1, 2, adam, [odd](Mlp& net) { net.fc2.bias.values()[0] = odd; });
        }) == "Model.train: rank 1 has other weights than rank 0: give all ranks the same seed and checkpoint.");
  CHECK(both_hear([](const auto& group, bool odd) {
          train_on(group, 64, 16, 1, 2, nn::Adam{.learning_rate = odd ? 0.5f : 0.25f});
        }) == "Model.train: in step 1 rank 0 has the learning rate 0.25, rank 1 0.5: their weights would become "
              "different.");
}
TEST_CASE("init after a part that shares a training would be too late") {
  const dist::DataParallel alone;
  CHECK(alone.group.size() == 1);
  CHECK(support::error_of([] { dist::init(); }) ==
        "dist::init after a dist::DataParallel was made, which trains alone: call dist::init before you make a Model.");
}
TEST_CASE("ranks with different data hear in what they differ") {
  const ContextScope scope({.mode = Mode::graph, .num_threads = 1});
  const std::string alike = ": the others would wait for them. Give all ranks the same data set; DataParallel shares "
                            "each batch.";
  const auto heard = [](long samples, long batch, long epochs = 1) {
    return both_hear(
        [=](const auto& group, bool odd) { train_on(group, odd ? samples : 64, odd ? batch : 16, odd ? epochs : 1); });
  };
  CHECK(heard(48, 16) == "Model.train: rank 0 has 4 batches per epoch, rank 1 has 3" + alike);
  CHECK(heard(64, 16, 3) == "Model.train: rank 0 trains for 1 epochs, rank 1 for 3.");
  CHECK(heard(60, 15) == "Model.train: after 0 steps rank 0 has a batch of 16 samples, rank 1 one of 15: give all "
                         "ranks the same data set; DataParallel shares each batch.");
  const auto other = [](auto data_of) {
    return both_hear([&](const auto& group, bool odd) {
      Mlp net;
      Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, adam, dist::DataParallel{2, group}};
      model.train(1, data_of(odd));
    });
  };
  CHECK(
      other([](bool odd) { return bands<Shape<20>>(64) | dataset::shuffle(64, odd ? 2 : 1) | dataset::batch(16); }) ==
      "Model.train: in step 1 rank 1 has other samples than rank 0: DataParallel shares each batch, so give all ranks "
      "the same data set, with the same seed, or, by dataset::shard(), a shard each.");
  const auto sharded = [&](long number, auto id) {
    return other([&](bool odd) {
      return bands<Shape<20>>(64) | dataset::shard({.num_shards = number, .shard_id = id(odd)}) | dataset::batch(16);
    });
  };
  CHECK(
      sharded(3, [](bool odd) { return odd ? 2 : 0; }) ==
      "Model.train: the data set of rank 0 is shard 0 of 3, and there are 2 ranks: use shard() without numbers, which "
      "gives each rank another one, or give all ranks the same data set.");
  CHECK(sharded(2, [](bool odd) { return odd; }) ==
        "Model.train: each rank has another shard of the data, so that a batch depends on the number of ranks: use "
        "DataParallel without .shards, or give all ranks the same data set.");
  CHECK(sharded(3, [](bool) { return 2; }) == "nothing");  // a part of the data, which they share
  CHECK(other([](bool odd) { return Ending{bands<Shape<20>>(64) | dataset::batch(16), odd ? 0L : 4L, 4}; }) ==
        "Model.train: rank 0 has 4 batches per epoch, rank 1 has 0" + alike);
  // rows that end before their number: the ranks find out at the end of the epoch
  CHECK(other([](bool odd) { return Ending{bands<Shape<20>>(64) | dataset::batch(16), 4, odd ? 2L : 4L}; }) ==
        "Model.train: after 2 steps rank 0 has a batch of 16 samples, rank 1 one of 0: give all ranks the same data "
        "set; DataParallel shares each batch.");
  CHECK_THROWS_WITH_AS((trained<Mlp, Shape<20>>({16, 16, 1, 0}, adam, dist::DataParallel{.shards = -1})),
                       "DataParallel: shards must be 1 or more, or 0 for one per rank, got -1.", ValueError);
}
TEST_CASE("what set_auto_parallel_context says to it") {
  const ContextScope scope({.mode = Mode::graph, .num_threads = 1});
  const auto heard = [](const char* key, const char* value) {
    std::string sentence;
    const std::string warning = support::printed_to(stderr, [&] {
      set_auto_parallel_context(key, value);
      sentence = both_hear([](const auto& group, bool odd) {
        train_on(group, 64, 16, 1, 2, adam, [odd](Mlp& net) { net.fc2.bias.values()[0] = odd; });
      });
    });
    reset_auto_parallel_context();
    return (warning.empty() ? "" : "warned, ") + sentence;
  };
  CHECK(heard("parallel_mode", "semi_auto_parallel") ==
        "DataParallel: in the parallel_mode 'semi_auto_parallel' operators have strategies; here the cells of the "
        "network are the strategy, nn::ColumnParallelDense for a Dense with its outputs in slices, "
        "nn::RowParallelDense with its inputs, nn::VocabParallelEmbedding for the rows of a table: use them, and set "
        "'hybrid_parallel'.");
  CHECK(heard("parallel_mode", "auto_parallel") ==
        "DataParallel: the parallel_mode 'auto_parallel' searches for a strategy, which Tenon does not: take "
        "nn::ColumnParallelDense, nn::RowParallelDense, and nn::VocabParallelEmbedding for the layers that shall be in "
        "slices, and set 'hybrid_parallel'.");
  CHECK(heard("parallel_mode", "hybrid_parallel").starts_with("Model.train: rank 1 has other weights"));
  CHECK(heard("parallel_mode", "data_parallel").starts_with("Model.train: rank 1 has other weights"));
  CHECK(heard("device_num", "3") == "DataParallel: set_auto_parallel_context has set device_num to 3, and it is 2 "
                                    "here: leave it out, dist::init knows it.");
  CHECK(heard("device_num", "2").find("has other weights") != std::string::npos);
  CHECK(heard("gradients_mean", "True").find("has other weights") != std::string::npos);
  CHECK(heard("parameter_broadcast", "True") == "nothing");

  // a reset between a Model and its first step
  set_auto_parallel_context("parallel_mode", "data_parallel");
  dist::run_ranks(2, [](const dist::Communicator& group) {
    Mlp net;
    Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, adam, dist::DataParallel{.group = group}};
    group.barrier();
    if (group.rank() == 0) reset_auto_parallel_context();
    group.barrier();
    model.train(1, bands<Shape<20>>(16) | dataset::batch(16));
    CHECK(model.global_step() == 1);
  });
}
TEST_CASE("processes of mpirun that would train alone say so") {
  ::setenv("PMI_SIZE", "4", 1);
  CHECK(support::error_of([] { static_cast<void>(dist::DataParallel{}); }) ==
        "DataParallel: mpirun has started 4 processes ($PMI_SIZE), and each of them would train alone: call dist::init "
        "before you make a Model, or give it .group = dist::Communicator{}.");
  CHECK(dist::DataParallel{.group = dist::Communicator{}}.group.size() == 1);
  ::unsetenv("PMI_SIZE");
}
TEST_CASE("ranks that read a shard each train with the bits of ranks that share batches of the same samples") {
  const ContextScope scope({.mode = Mode::graph, .num_threads = 1, .seed = 11});
  const auto train = [](int size, int shards, auto data) {
    std::vector<Outcome> outcomes(std::size_t(size), Outcome{});
    dist::run_ranks(size, [&](const dist::Communicator& group) {
      Outcome& outcome = outcomes[std::size_t(group.rank())];
      SmallResNet net;
      Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, adam, dist::DataParallel{shards, group}};
      model.train(3, data(), Losses{outcome.losses});
      outcome.take_parameters(net);
    });
    for (const Outcome& outcome : outcomes) CHECK(outcome == outcomes[0]);
    return outcomes[0];
  };
  const auto rows = bands<Shape<3, 8, 8>>(45);  // of 3 ranks each has 15, in batches of 4, 4, 4, 3
  const Outcome own = train(3, 0, [&] { return rows | dataset::shard() | dataset::batch(4); });
  std::vector<long> order;
  for (long begin = 0; begin < 45; begin += 12)
    for (long rank = 0; rank < 3; ++rank)
      for (long row = begin + rank; row < std::min(begin + 12, 45L); row += 3) order.push_back(row);
  CHECK(own == train(1, 3, [&] { return rows | dataset::sample(dataset::SubsetSampler{order}) | dataset::batch(12); }));
  CHECK(own.losses.size() == 12);
  CHECK(own.losses.back() < own.losses.front());
  CHECK(own == train(3, 0, [&] {
          return rows | dataset::sample(dataset::DistributedSampler{.shuffle = false}) | dataset::batch(4);
        }));
  CHECK((rows | dataset::shard()).size() == 45);  // of one process
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
