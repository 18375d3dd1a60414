// A training whose weights do not depend on the number of ranks: a batch is a fixed tree over shards, bit for bit.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include <tenon/nn/optim/adam.hpp>
#include <tenon/nn/optim/clip.hpp>

#include "../support/models.hpp"
#include "shards.hpp"

using namespace support;
using namespace shards;

namespace {

const nn::Momentum momentum{.learning_rate = 0.05f, .momentum = 0.9f, .weight_decay = 1e-4f};
const std::vector<int> all{2, 3, 4, 5, 6, 7, 8};

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
  check_ranks<LeNet, Digit>(all, {.samples = 50, .batch = 16, .epochs = 5, .shards = 8}, momentum);
}
TEST_CASE("so has a network with moving statistics and dropout, trained by Adam, with another number of shards") {
  check_ranks<SmallResNet, Small>(all, {.samples = 56, .batch = 23, .epochs = 10, .shards = 5},
                                  nn::ClipByGlobalNorm{nn::Adam{.learning_rate = 0.01f}, 1.0f});
}
TEST_CASE("so has mixed precision with a loss scale that overflows") {
  check_ranks<LeNet, Digit>(all, {.samples = 50, .batch = 16, .epochs = 5, .shards = 6}, momentum,
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
