// What tests of the number of kernels share: a training step on the emulator, whose recorded graph is looked at.
#pragma once
#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

#include <tenon/tenon.hpp>

#if defined(TENON_CUDA_EMULATOR)  // which keeps recorded graphs
namespace nodes_test {

using namespace tenon;

template <class Sample, class Label>
auto zeros(long batch) {
  using Number = std::conditional_t<(Sample::rank == 1 && Label::rank == 1), std::int32_t, float>;
  return dataset::from_arrays(
             dataset::column<Sample>(std::vector<Number>(std::size_t(batch * Sample::dims.count(1)))),
             dataset::column<Label>(std::vector<std::int32_t>(std::size_t(batch * Label::dims.count(1))))) |
         dataset::batch(batch) | dataset::repeat(4);  // two places for each column, and the second time is recorded
}
struct Kernels {
  int all = 0, longest_chain = 0;
  double per_operation = 0;  // of the fused graph
};
struct Operations {
  int count = 0;
  void begin(RunInfo& run) { count = run.program->instructions; }
};
/// Kernels of a step.
template <class Net, class Sample, class Label = Shape<>>
Kernels kernels_of_step(long batch, const auto& optimizer) {
  const ContextScope scope({.mode = Mode::graph, .device_target = "GPU", .seed = 1});
  emulator::kernels_run = false;
  emulator::launched = nullptr;
  Net net;
  Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, optimizer};
  Operations operations;
  model.train(1, zeros<Sample, Label>(batch), operations);
  emulator::kernels_run = true;
  Kernels kernels;
  std::vector<int> chain;  // that ends with each item
  if (emulator::launched)
    for (const auto& item : emulator::launched->items) {
      int before = 0;
      for (const std::size_t other : item.after) before = std::max(before, chain[other]);
      chain.push_back(before + (item.body != nullptr));
      kernels.all += item.body != nullptr, kernels.longest_chain = std::max(kernels.longest_chain, chain.back());
    }
  kernels.per_operation = double(kernels.all) / operations.count;
  MESSAGE(kernels.all, " kernels of ", operations.count, " operations, ", kernels.longest_chain,
          " of them one after the other");
  return kernels;
}
inline const nn::Momentum momentum{.learning_rate = 0.01f, .momentum = 0.9f};

inline void check_kernels(const Kernels& kernels, int most, int longest_chain) {
  CHECK(kernels.all > most * 3 / 4);  // of a whole step
  CHECK(kernels.all <= most);
  CHECK(kernels.longest_chain <= longest_chain);
  CHECK(kernels.per_operation <= 1.2);
}

}  // namespace nodes_test
#endif
