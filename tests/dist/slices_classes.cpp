// A network whose embedding, layers, and classes are in slices trains as the whole one, with the loss that sees no rank
// with all logits. Ranks are threads.
// label: long
#include "slices.hpp"

#include <tenon/nn/layer/dense.hpp>
#include <tenon/nn/optim/adam.hpp>
#include <tenon/nn/parallel/vocab_parallel_cross_entropy.hpp>
#include <tenon/train/data_parallel.hpp>

#include "../support/error_of.hpp"

using namespace slices;
using support::error_of;

namespace {
/// Which of 12 words is the class of a sentence; each rank has the logits of some.
template <int Slices>
struct NextWord : nn::Cell<NextWord<Slices>> {
  nn::VocabParallelEmbedding<12, 16, Slices, "slices"> table;
  nn::ColumnParallelDense<16, 12, Slices, "slices"> words;
  constexpr auto construct(auto ids) const { return words(reduce_mean<1>(table(ids))); }
};

template <int Slices, class... Parts>
Trained train(const auto& data, const Parts&... parts) {
  NextWord<Slices> net;
  Model model{net, nn::VocabParallelCrossEntropy<Slices, "slices">{}, nn::Adam{.learning_rate = 0.02f}, parts...};
  Trained all;
  support::Losses losses{all.losses};
  model.train(6, data, losses);
  for (const auto& [name, parameter] : ParameterList(net).dict()) {
    const auto numbers = parameter.view().template as<float>();
    all.values[name].assign(numbers.begin(), numbers.end());
  }
  return all;
}
}  // namespace

TEST_CASE("classes in two and four slices train as the whole ones, with equal bits in both modes and on replicas") {
  const auto data = sentences(64) | dataset::batch(16);
  const ContextScope scope({.mode = Mode::graph, .num_threads = 1, .seed = 11});
  NextWord<1> net;
  Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, nn::Adam{.learning_rate = 0.02f}};
  std::vector<double> expected;
  support::Losses losses{expected};
  model.train(6, data, losses);
  const Trained whole = train<1>(data);
  CHECK(whole.losses == expected);  // one slice is the usual loss, bit for bit
  CHECK(whole.losses.back() < 0.6 * whole.losses.front());

  const auto in_slices = [&]<int Slices>(std::integral_constant<int, Slices>, Mode mode, int replicas) {
    return trained_in_slices<Slices>(mode, replicas, [&](const dist::Communicator& group) {
      return train<Slices>(data, dist::DataParallel{.shards = 2, .group = group});
    });
  };
  const auto two = std::integral_constant<int, 2>();
  const auto four = std::integral_constant<int, 4>();
  const auto alone = [&]<int Slices>(std::integral_constant<int, Slices>, Mode mode) {
    return trained_in_slices<Slices>(mode, 1, [&](const auto&) { return train<Slices>(data); });
  };
  CHECK(distance(whole, alone(two, Mode::graph)) < 1e-5);
  CHECK(distance(whole, alone(four, Mode::graph)) < 1e-5);
  CHECK(alone(two, Mode::pynative) == alone(two, Mode::graph));
  CHECK(alone(four, Mode::pynative) == alone(four, Mode::graph));
  const Trained sharded = in_slices(two, Mode::graph, 1);
  CHECK(distance(whole, sharded) < 1e-5);
  CHECK(in_slices(two, Mode::graph, 2) == sharded);
  CHECK(in_slices(two, Mode::pynative, 2) == sharded);
}
TEST_CASE("a label that is no class is found before the step, on all ranks") {
  auto data = dataset::from_arrays(dataset::column<Shape<6>>(std::vector<std::int32_t>(24)),
                                   dataset::column<Shape<>>(std::vector<std::int32_t>{3, 11, 12, 0})) |
              dataset::batch(4);
  std::vector<std::string> all(2);
  dist::run_ranks(2, [&](const dist::Communicator& ranks) {
    dist::create_mesh({{"slices", 2}});
    all[std::size_t(ranks.rank())] = error_of([&] { train<2>(data); });
  });
  CHECK(all[0] == all[1]);
  CHECK(
      all[0] ==
      "Model.train: label 12 in sample 2 of step 1 (epoch 1) is outside of 0 .. 11, the 12 classes of a prediction in "
      "slices [n,6]. Correct the label, or give the last layer more outputs.");
}
