// The plan of a Model's step is known to the compiler, and is what the step takes.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <vector>

#include <tenon/tenon.hpp>

using namespace tenon;

namespace {
struct Net : nn::Cell<Net> {
  nn::Dense<16, 32> hidden;
  nn::Dense<32, 4> head;
  constexpr auto construct(auto x) const { return head(relu(hidden(x))); }
};
}  // namespace

TEST_CASE("plan_of: the plan of a training step") {
  Net net;
  Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, nn::Momentum{.learning_rate = 0.1f, .momentum = 0.9f}};
  const std::vector<float> x(64 * 16, 0.5f);
  const std::vector<std::int32_t> label(64, 1);
  auto data = dataset::from_arrays(dataset::column<Shape<16>>(x), dataset::column<Shape<>>(label)) | dataset::batch(32);
  static_assert(plan_of(model, data).bytes(32) < 1 << 16);
  // both layers' results, or their gradients, at least
  static_assert(plan_of(model, data).bytes(32) >= long(sizeof(float)) * 32 * (32 + 4));
  static_assert(plan_of(model, data).bytes(64) > plan_of(model, data).bytes(32));
  const StepPlan plan = plan_of(model, data);
  CHECK(plan.kernels() > 0);
  CHECK(plan.bytes(32, 2) >= plan.bytes(32, 1));
  using Step = Compiled<tenon::detail::TrainStep<Net, nn::SoftmaxCrossEntropyWithLogits<>, nn::Momentum,
                                                 TypeKey<Dtype::float32, dyn, 16>, TypeKey<Dtype::int32, dyn>>>;
  CHECK(plan.bytes(32) == Step::program.bytes(32, 1));
}

TEST_CASE("plan_of: without an optimizer, the plan of an evaluation") {
  Net net;
  Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, NoOptimizer{}, nn::Accuracy{}};
  const std::vector<float> x(64 * 16, 0.5f);
  const std::vector<std::int32_t> label(64, 1);
  auto data = dataset::from_arrays(dataset::column<Shape<16>>(x), dataset::column<Shape<>>(label)) | dataset::batch(32);
  static_assert(plan_of(model, data).bytes(32) > 0);
}
