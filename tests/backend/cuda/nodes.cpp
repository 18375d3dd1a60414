// flags: -O0
// How many kernels a training step has on the target Cuda, and how many of them are in the longest chain in which each
// waits for the one before: bars as measured, so that they do not grow unseen.
#define TENON_TARGET cuda
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

#include <tenon/tenon.hpp>

#if defined(TENON_CUDA_EMULATOR)  // which keeps recorded graphs
#include "../../../benchmarks/models/gpt.hpp"
#include "../../../benchmarks/models/lenet.hpp"
#include "../../../benchmarks/models/resnet18.hpp"

using namespace tenon;

namespace {
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
const nn::Momentum momentum{.learning_rate = 0.01f, .momentum = 0.9f};

struct Lstm : nn::Cell<Lstm> {
  nn::LSTM<32, 128> lstm;
  nn::Dense<128, 10> fc;
  constexpr auto construct(auto x) const {
    auto [output, h, c] = lstm(x);
    return fc(ops::flatten(h));
  }
};
struct Mlp : nn::Cell<Mlp> {
  nn::Dense<784, 512> hidden;
  nn::Dense<512, 10> output;
  constexpr auto construct(auto x) const { return output(relu(hidden(x))); }
};
void check_kernels(const Kernels& kernels, int most, int longest_chain) {
  CHECK(kernels.all > most * 3 / 4);  // of a whole step
  CHECK(kernels.all <= most);
  CHECK(kernels.longest_chain <= longest_chain);
  CHECK(kernels.per_operation <= 1.2);
}
}  // namespace

TEST_CASE("LeNet-5") { check_kernels(kernels_of_step<models::LeNet, Shape<1, 28, 28>>(32, momentum), 2, 2); }
TEST_CASE("MLP 784-512-10") { check_kernels(kernels_of_step<Mlp, Shape<784>>(64, momentum), 3, 3); }
TEST_CASE("LSTM") { check_kernels(kernels_of_step<Lstm, Shape<64, 32>>(32, momentum), 24, 15); }
TEST_CASE("GPT with 4 blocks of width 256") {
  using Gpt = models::Gpt<4, 128, 256, 4, 65>;
  check_kernels(kernels_of_step<Gpt, Shape<128>, Shape<128>>(4, nn::Adam{.learning_rate = 1e-4f}), 137, 89);
}
TEST_CASE("ResNet-18 on 32 x 32 images") {
  check_kernels(kernels_of_step<models::ResNet18, Shape<3, 32, 32>>(32, momentum), 235, 157);
}
#endif
