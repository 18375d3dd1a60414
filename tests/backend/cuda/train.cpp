// Trainings on the target Cuda: weights and losses are the CPU's, bit for bit, in both modes.
#define TENON_TARGET cuda
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <vector>

#include <tenon/train/checkpoint.hpp>

#include "../../support/models.hpp"
#include "../../target/networks.hpp"

using namespace tenon;

namespace {
/// The losses of some steps, and hashes of all parameters after them.
struct Trained {
  std::vector<double> losses;
  std::vector<std::uint64_t> weights;
};
struct Losses {
  std::vector<double>& all;
  void step_end(RunInfo& run) { all.push_back(run.loss()); }
};

template <class Net>
Trained trained(std::string_view target, Mode mode, const auto& data, const auto& optimizer) {
  const ContextScope scope({.mode = mode, .device_target = target, .seed = 7});
  Net net;
  Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, optimizer};
  Trained result;
  Losses losses{result.losses};
  model.train(2, data, losses);
  for (const auto& [name, tensor] : named_parameters(net))
    result.weights.push_back(hash_bytes(static_cast<const char*>(tensor.data), tensor.bytes(), 0));
  return result;
}
template <class Net>
void check_equal(const auto& data, const auto& optimizer) {
  const Trained cpu = trained<Net>("CPU", Mode::graph, data, optimizer);
  CHECK(cpu.losses.size() == 6);
  for (const Mode mode : {Mode::graph, Mode::pynative}) {
    const Trained there = trained<Net>("GPU", mode, data, optimizer);
    CHECK(there.losses == cpu.losses);
    CHECK(there.weights == cpu.weights);
  }
}
}  // namespace

TEST_CASE("LeNet with Momentum") {
  check_equal<support::LeNet>(target_test::images<1, 28, 28>(10, 4, 10),
                              nn::Momentum{.learning_rate = 0.1f, .momentum = 0.9f, .weight_decay = 1e-3f});
#if defined(TENON_CUDA_EMULATOR)
  CHECK(emulator::graph_launches > 0);
#endif
}

TEST_CASE("batch normalization, dropout, an addition around layers") {
  check_equal<support::SmallResNet>(target_test::images<3, 8, 8>(10, 4, 5), nn::Adam{.learning_rate = 0.01f});
}

TEST_CASE("a language model: embeddings, layer normalization, attention") {
  check_equal<target_test::LanguageModel>(target_test::texts(10, 4), nn::Adam{.learning_rate = 0.01f});
}

TEST_CASE("fully connected layers with Adam: products with the update in the place of a store") {
  check_equal<support::Mlp>(target_test::images<20>(900, 300, 4), nn::Adam{.learning_rate = 0.01f});
}
