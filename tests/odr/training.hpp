// A small training that each unit of two_units.cpp compiles for itself, in modes of its own.
#pragma once
#include <tenon/dataset/dataset.hpp>
#include <tenon/nn/layer/dense.hpp>
#include <tenon/nn/layer/norm/batch_norm.hpp>
#include <tenon/nn/loss/softmax_cross_entropy.hpp>
#include <tenon/nn/optim/momentum.hpp>
#include <tenon/ops/relu.hpp>
#include <tenon/train/model.hpp>

#include "two_units.hpp"

// In Tenon's namespace, as register_bytes: units with equal flags share the network, others have each their own.
namespace tenon::inline TENON_ABI {

struct OdrNet : nn::Cell<OdrNet> {
  nn::Dense<12, 40> fc1;
  nn::BatchNorm1d<40> norm;
  nn::Dense<40, 3> fc2;
  constexpr auto construct(auto x) const { return fc2(relu(norm(fc1(x)))); }
};

struct OdrLosses {
  std::vector<double>& value;
  void step_end(RunInfo& run) { value.push_back(run.loss()); }
};

}  // namespace tenon

// Internal to each unit, or it would itself be shared. `pin` is pinned<mode>, or nothing for a Model that has both
// modes.
template <class... Pin>
static Training train_here(InMode mode, Pin... pin) {
  using namespace tenon;
  const ContextScope scope({.mode = mode == InMode::graph ? Mode::graph : Mode::pynative, .seed = 5});
  std::vector<float> x;
  std::vector<std::int32_t> y;
  Random random(9);
  for (int i = 0; i < 70; ++i) {
    y.push_back(i % 3);
    for (int k = 0; k < 12; ++k) x.push_back(random.uniform(-1, 1) + (k % 3 == i % 3 ? 1.0f : 0.0f));
  }
  const auto all =
      dataset::from_arrays(dataset::column<Shape<12>>(std::move(x)), dataset::column<Shape<>>(std::move(y)));
  const auto data = all | dataset::batch(16);  // 5 batches, one short
  OdrNet net;
  Model model{pin..., net, nn::SoftmaxCrossEntropyWithLogits{},
              nn::Momentum{.learning_rate = 0.05f, .momentum = 0.9f, .weight_decay = 1e-4f}};
  Training training;
  model.train(8, data, OdrLosses{training.losses});
  const ParameterList list(net);
  training.weights.assign(reinterpret_cast<const char*>(list.arena()->data), std::size_t(list.bytes()));
  return training;
}
