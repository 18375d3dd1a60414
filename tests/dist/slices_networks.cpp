// Networks in slices: replicas of them, overflow in one slice, frozen slices, heads of attention, mixed precision.
// label: long
#include "slices.hpp"

#include <tenon/nn/layer/norm/layer_norm.hpp>
#include <tenon/nn/optim/adam.hpp>
#include <tenon/nn/optim/clip.hpp>
#include <tenon/nn/optim/momentum.hpp>
#include <tenon/ops/gelu.hpp>
#include <tenon/train/data_parallel.hpp>

using namespace slices;

namespace {

const nn::ClipByGlobalNorm clipped{nn::Adam{.learning_rate = 0.01f}, 0.1f};

struct Overflows {
  std::vector<bool>& value;
  void step_end(tenon::RunInfo& run) { value.push_back(run.overflow); }
};

}  // namespace

TEST_CASE("slices and replicas: the bits depend on the numbers of slices and shards, not on that of replicas") {
  const auto data = sentences(72) | dataset::batch(16);  // the last batch has 8
  const auto train = [&]<class Net>(std::type_identity<Net>, const dist::Communicator& replicas) {
    return trained<Net>(data, 4, clipped, dist::DataParallel{.shards = 4, .group = replicas});
  };
  const auto in_slices = [&](Mode mode, int replicas) {
    return trained_in_slices<2>(
        mode, replicas, [&](const dist::Communicator& group) { return train(std::type_identity<Words<2>>(), group); });
  };
  const Trained two = in_slices(Mode::graph, 1);
  for (const int replicas : {2, 3}) {
    CHECK(in_slices(Mode::graph, replicas) == two);
    CHECK(in_slices(Mode::pynative, replicas) == two);
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
