// label: long
// Trainings with optimizers that need more than one pass over a gradient, in 16 bits, with overflows: on the target
// Cuda weights are the CPU's, bit for bit, in both modes.
#define TENON_TARGET cuda
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <cmath>
#include <vector>

#include <tenon/train/checkpoint.hpp>

#include "../../target/networks.hpp"

using namespace tenon;

namespace {
struct Words : nn::Cell<Words> {
  nn::Embedding<11, 4> word;
  nn::Dropout<nn::DropoutConfig{.p = 0.25f}> drop;
  nn::Dense<24, 11> head;
  constexpr auto construct(auto text) const { return head(drop(flatten(word(text)))); }
};
auto texts() {
  std::vector<std::int32_t> x(20 * 6), y(20);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = int(i * i % 11);
  for (std::size_t i = 0; i < y.size(); ++i) y[i] = int(i * 7 % 11);
  return dataset::from_arrays(dataset::column<Shape<6>>(std::move(x)), dataset::column<Shape<>>(std::move(y))) |
         dataset::batch(8);
}

template <class... More>
std::vector<std::uint64_t> trained(std::string_view target, Mode mode, const auto& optimizer, const More&... more) {
  const ContextScope scope({.mode = mode, .device_target = target, .seed = 7});
  Words net;
  Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, optimizer, more...};
  model.train(2, texts());
  std::vector<std::uint64_t> weights;
  for (const auto& [name, tensor] : named_parameters(net)) {
    weights.push_back(hash_bytes(static_cast<const char*>(tensor.data), tensor.bytes(), 0));
    CHECK(std::isfinite(static_cast<const float*>(tensor.data)[0]));
  }
  return weights;
}
void check_equal(const auto& optimizer, const auto&... more) {
  const auto cpu = trained("CPU", Mode::graph, optimizer, more...);
  for (const Mode mode : {Mode::graph, Mode::pynative}) CHECK(trained("GPU", mode, optimizer, more...) == cpu);
}
}  // namespace

TEST_CASE("norms of whole parameters") {
  check_equal(nn::Lamb{.learning_rate = 0.01f, .weight_decay = 0.01f});
  check_equal(nn::LARS{nn::Momentum{.learning_rate = 0.1f, .momentum = 0.9f, .weight_decay = 0.01f}});
  check_equal(nn::AdaFactor{.learning_rate = 0.01f});
  check_equal(nn::ClipByGlobalNorm{nn::Adam{.learning_rate = 0.01f}, 0.125f});
}

TEST_CASE("sums over batches, learning rates of groups") {
  check_equal(nn::AccumulateGradients{nn::Adam{.learning_rate = 0.01f}, 2});
  check_equal(nn::RMSProp{.learning_rate = [](long step) { return 0.01 / (1 + double(step)); },
                          .groups = {{.params = {"word*"}, .learning_rate = 0.1}}});
}

TEST_CASE("16 bits, with a loss scale that overflows at first: steps are left out") {
  check_equal(nn::Adam{.learning_rate = 0.01f}, amp<AmpLevel::O2>, DynamicLossScaleManager{.init_loss_scale = 0x1p24f});
  check_equal(nn::Adam{.learning_rate = 0.01f}, amp<AmpLevel::O2, float16>,
              DynamicLossScaleManager{.init_loss_scale = 0x1p24f});
  check_equal(nn::Momentum{.learning_rate = 0.1f, .momentum = 0.9f}, amp<AmpLevel::O3>,
              FixedLossScaleManager{.loss_scale = 256});
}
