// Frozen: names, no updates, no code for them, gradients that flow through, equal bits in both modes.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include "support.hpp"

#include <tenon/nn/frozen.hpp>
#include <tenon/nn/layer/dropout.hpp>

using namespace cells;

namespace {

struct Middle : nn::Cell<Middle> {
  nn::Dense<16, 16> fc;
  nn::Dropout<nn::DropoutConfig{.p = 0.1f}> drop;
  constexpr auto construct(auto x) const { return drop(relu(fc(x))); }
};
template <class Part>
struct With : nn::Cell<With<Part>> {
  nn::Dense<12, 16> first;
  Part middle;
  nn::Dense<16, 3> last;
  constexpr auto construct(auto x) const { return last(middle(relu(first(x)))); }
};
using Free = With<Middle>;
using Partly = With<nn::Frozen<Middle>>;
struct FrozenDropout : nn::Cell<FrozenDropout> {
  nn::Dense<12, 16> first;
  nn::Frozen<nn::Dropout<>> drop;
  nn::Dense<16, 3> last;
  constexpr auto construct(auto x) const { return last(drop(relu(first(x)))); }
};

template <class Net>
long effects() {
  using Loss = nn::SoftmaxCrossEntropyWithLogits<>;
  using Graph = Compiled<
      detail::TrainStep<Net, Loss, nn::Momentum, TypeKey<Dtype::float32, dyn, 12>, TypeKey<Dtype::int32, dyn>>>;
  long count = 0;
  for (int id = 0; id < Graph::graph.count; ++id) count += Graph::graph[id].op->effect;
  return count;
}

}  // namespace

TEST_CASE("Frozen: names are those of the cell, parameters are not trainable") {
  Partly net;
  std::string names, trained;
  for (const auto& [name, parameter] : net.parameters_and_names()) names += name + " ";
  for (const ParameterRef& parameter : net.trainable_params()) trained += parameter.name() + " ";
  CHECK(names == "first.weight first.bias middle.fc.weight middle.fc.bias last.weight last.bias ");
  CHECK(trained == "first.weight first.bias last.weight last.bias ");
  CHECK(net.parameter_count() == 12 * 16 + 16 + 16 * 3 + 3);
  CHECK(Free::parameter_count() == Partly::parameter_count() + 16 * 16 + 16);
}

TEST_CASE("Frozen: training leaves its parameters, changes those before and behind, with equal bits in both modes") {
  check_training<Partly, Shape<12>>(20);
  Partly net;
  net.init_parameters();
  const Partly before = net.clone();
  Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, momentum()};
  model.train(1, samples<Shape<12>>(28) | dataset::batch(8));
  const auto same = [](const auto& a, const auto& b) {
    return std::memcmp(a.values().data(), b.values().data(), a.values().size_bytes()) == 0;
  };
  CHECK(same(net.middle.cell.fc.weight, before.middle.cell.fc.weight));
  CHECK(same(net.middle.cell.fc.bias, before.middle.cell.fc.bias));
  CHECK(!same(net.first.weight, before.first.weight));
  CHECK(!same(net.last.weight, before.last.weight));
}

TEST_CASE("Frozen: the captured step has no update for it") {
  CHECK(effects<Free>() == 6);
  CHECK(effects<Partly>() == 4);
}

TEST_CASE("Frozen: a cell that draws random numbers itself draws the same ones in both modes") {
  check_training<FrozenDropout, Shape<12>>(20);
}
