// A training whose weights do not depend on the number of ranks: a batch is a fixed tree over shards, bit for bit.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include <tenon/dataset/dataset.hpp>
#include <tenon/dist/threads.hpp>
#include <tenon/nn/optim/adam.hpp>
#include <tenon/nn/optim/clip.hpp>
#include <tenon/train/data_parallel.hpp>

#include "../support/models.hpp"

using namespace support;
using namespace tenon;

namespace {

/// What some steps leave: the losses, and the bytes of all parameters and moments.
struct Outcome {
  std::vector<double> losses;
  std::string parameters;
  bool operator==(const Outcome&) const = default;
};

struct Losses {
  std::vector<double>& value;
  void step_end(RunInfo& run) { value.push_back(run.loss()); }
};

/// Images in which one of four bands is bright, says the label.
template <class Image>
auto bands(long count) {
  Random random(3);
  std::vector<float> x;
  std::vector<std::int32_t> y;
  const long size = Image::dims.count(1);
  for (long i = 0; i < count; ++i) {
    y.push_back(std::int32_t(i % 4));
    for (long k = 0; k < size; ++k) x.push_back(random.uniform(-0.5f, 0.5f) + (k * 4 / size == i % 4 ? 1.0f : 0.0f));
  }
  return dataset::from_arrays(dataset::column<Image>(std::move(x)), dataset::column<Shape<>>(std::move(y)));
}

const nn::Momentum momentum{.learning_rate = 0.05f, .momentum = 0.9f, .weight_decay = 1e-4f};

struct Training {
  long samples, batch, epochs;
  int shards;
};

template <class Net, class Image, class Optimizer, class... Parts>
Outcome trained(const Training& how, const Optimizer& optimizer, const Parts&... parts) {
  Net net;
  Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, optimizer, parts...};
  Outcome outcome;
  Losses losses{outcome.losses};
  model.train(how.epochs, bands<Image>(how.samples) | dataset::batch(how.batch), losses);
  const ParameterList list(net);
  outcome.parameters.assign(reinterpret_cast<const char*>(list.arena()->data), std::size_t(list.bytes()));
  for (const io::NamedTensor& moment : model.optimizer_state())
    outcome.parameters.append(static_cast<const char*>(moment.tensor.data), moment.tensor.bytes());
  return outcome;
}

/// Trains on `ranks` threads, each with a network and a Model of its own, which all leave the same; returns that.
template <class Net, class Image, class Optimizer, class... Parts>
Outcome trained_by(int ranks, Mode mode, const Training& how, const Optimizer& optimizer, const Parts&... parts) {
  const ContextScope scope({.mode = mode, .num_threads = 1, .seed = 11});
  std::vector<Outcome> outcomes(static_cast<std::size_t>(ranks));
  dist::run_ranks(ranks, [&](const dist::Communicator& group) {
    outcomes[std::size_t(group.rank())] =
        trained<Net, Image>(how, optimizer, parts..., dist::DataParallel{how.shards, group});
  });
  for (const Outcome& outcome : outcomes) CHECK(outcome == outcomes[0]);
  return outcomes[0];
}

template <class Net, class Image, class Optimizer, class... Parts>
void check_ranks(const Training& how, const Optimizer& optimizer, const Parts&... parts) {
  const Outcome alone = trained_by<Net, Image>(1, Mode::graph, how, optimizer, parts...);
  CHECK(alone.losses.back() < 0.6 * alone.losses.front());  // two dead networks are equal, too
  for (int ranks = 2; ranks <= 8; ++ranks) {
    CAPTURE(ranks);
    CHECK(trained_by<Net, Image>(ranks, Mode::graph, how, optimizer, parts...) == alone);
  }
  for (const int ranks : {1, 3}) {
    CAPTURE(ranks);
    CHECK(trained_by<Net, Image>(ranks, Mode::pynative, how, optimizer, parts...) == alone);
  }
}

float farthest(const std::string& a, const std::string& b) {
  float most = 0;
  for (std::size_t i = 0; i + sizeof(float) <= a.size(); i += sizeof(float)) {
    float x, y;
    std::memcpy(&x, a.data() + i, sizeof x);
    std::memcpy(&y, b.data() + i, sizeof y);
    most = std::max(most, std::abs(x - y));
  }
  return most;
}

using Digit = Shape<1, 28, 28>;
using Small = Shape<3, 8, 8>;

}  // namespace

TEST_CASE("LeNet in eight shards has equal bits on 1 to 8 ranks") {
  check_ranks<LeNet, Digit>({.samples = 50, .batch = 16, .epochs = 5, .shards = 8}, momentum);
}
TEST_CASE("so has a network with moving statistics and dropout, trained by Adam, with another number of shards") {
  check_ranks<SmallResNet, Small>({.samples = 56, .batch = 23, .epochs = 10, .shards = 5},
                                  nn::ClipByGlobalNorm{nn::Adam{.learning_rate = 0.01f}, 1.0f});
}
TEST_CASE("so has mixed precision with a loss scale that overflows") {
  check_ranks<LeNet, Digit>({.samples = 50, .batch = 16, .epochs = 5, .shards = 6}, momentum,
                            amp<AmpLevel::O2, float16>, DynamicLossScaleManager{.scale_window = 3});
}
TEST_CASE("one shard gives the bits of a Model without shards, eight give nearly its weights") {
  const ContextScope scope({.mode = Mode::graph, .num_threads = 1, .seed = 11});
  const Training how{.samples = 50, .batch = 19, .epochs = 4, .shards = 0};  // batches of 19 and 12
  const Outcome plain = trained<LeNet, Digit>(how, momentum);
  CHECK(trained<LeNet, Digit>(how, momentum, dist::DataParallel{.shards = 1}) == plain);
  CHECK(trained<LeNet, Digit>(how, momentum, dist::DataParallel{}) == plain);
  const Outcome eight = trained<LeNet, Digit>(how, momentum, dist::DataParallel{.shards = 8});
  CHECK(farthest(eight.parameters, plain.parameters) < 1e-4f);
  for (std::size_t step = 0; step < plain.losses.size(); ++step)
    CHECK(eight.losses[step] == doctest::Approx(plain.losses[step]).epsilon(1e-3));
}
