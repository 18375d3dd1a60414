// flags: -O0
// The memory of training steps, as the compiler knows it: regions at their bounds, all together within 1 % of theirs.
// headers: yes
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <tenon/train/step/graphs.hpp>

#include "../graph/planning.hpp"
#include "../support/models.hpp"

using namespace support;
using tenon::Compiled, tenon::Dtype, tenon::TypeKey;

namespace {
using Labels = TypeKey<Dtype::int32, dyn>;
template <class Net, int... E>
using Training = tenon::detail::TrainStep<Net, nn::SoftmaxCrossEntropyWithLogits<>, nn::Momentum,
                                          TypeKey<Dtype::float32, E...>, Labels>;
template <class Net, int... E>
using TrainingStep = Compiled<Training<Net, E...>>;

using LeNetStep = TrainingStep<LeNet, dyn, 1, 28, 28>;
using MlpStep = TrainingStep<Mlp, dyn, 20>;
using ResNetStep = TrainingStep<SmallResNet, dyn, 3, 8, 8>;
using BottlenecksStep = TrainingStep<Bottlenecks, dyn, 16, 16, 16>;
using TransformerStep = TrainingStep<Transformer, dyn, 12, 32>;

template <class Step>
constexpr bool at_bound = Step::plan.size[0] == Step::plan.bound[0] && Step::plan.size[1] == Step::plan.bound[1] &&
                          Step::plan.size[2] == Step::plan.bound[2];
template <class Step>
constexpr bool near_joint_bound(long n) {
  return Step::plan.bytes(n) * 100 <= joint_bound(Step::graph, Step::lives, n) * 101;
}
template <class Step>
constexpr bool good = at_bound<Step> && near_joint_bound<Step>(32) && near_joint_bound<Step>(256);

static_assert(good<LeNetStep>);
static_assert(good<MlpStep>);
static_assert(good<ResNetStep>);
static_assert(good<BottlenecksStep>);
static_assert(good<TransformerStep>);

// What a batch norm makes of a value is computed again instead of being kept.
using Keeping = Compiled<Training<Bottlenecks, dyn, 16, 16, 16>, tenon::Passes{.rematerialise = false}>;
static_assert(joint_bound(BottlenecksStep::graph, BottlenecksStep::lives, 32) * 100 <
              joint_bound(Keeping::graph, Keeping::lives, 32) * 85);

// What a user may write: the whole scratch memory of a step on one thread, kernels' workspaces included.
static_assert(LeNetStep::program.bytes(32, 1) < 3 << 19);
static_assert(MlpStep::program.bytes(32, 1) < 1 << 17);
static_assert(LeNetStep::program.bytes(32, 2) > LeNetStep::program.bytes(32, 1));

template <class Step>
void check(const std::string& name) {
  CAPTURE(name);
  const auto& graph = Step::graph;
  for (tenon::Region region : {tenon::Region::sample, tenon::Region::fixed, tenon::Region::tile})
    CHECK(Step::plan.bound[int(region)] == graph_test::independent_bound(graph, region, Step::groups, true));
  for (long n : {1, 7, 32, 256}) {
    CAPTURE(n);
    const long bound = graph_test::independent_bound(graph, n, Step::groups, true);
    CHECK(joint_bound(graph, Step::lives, n) == bound);
    CHECK(graph_test::overlap(graph, Step::plan, n, Step::groups, true) == "");
    CHECK(Step::plan.bytes(n) >= bound);
    CHECK(Step::plan.bytes(n) <= (n < 32 ? 1.25 : 1.01) * double(bound));
    CHECK(Step::program.scratch(n) + Step::program.tile_bytes(n) == Step::plan.bytes(n));
    if (n == 32)
      MESSAGE(name, ", n = ", n, ": ", Step::plan.bytes(n), " bytes, ", double(Step::plan.bytes(n)) / double(bound),
              " of the bound");
  }
}
}  // namespace

TEST_CASE("plans of training steps, looked at from outside") {
  check<LeNetStep>("LeNet");
  check<MlpStep>("Mlp");
  check<ResNetStep>("SmallResNet");
  check<BottlenecksStep>("Bottlenecks");
  check<TransformerStep>("Transformer");
}
