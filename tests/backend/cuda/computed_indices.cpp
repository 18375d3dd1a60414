// A GPU looks itself at indices that a network computes: a training has the bits of the CPU, and a wrong index ends it
// with the same weights.
#define TENON_TARGET cuda
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <tenon/train/checkpoint.hpp>

#include "../../target/networks.hpp"

using namespace target_test;

TEST_CASE("computed indices: bits of the CPU, the same error") {
  const auto check = [](long wrong, const auto&... parts) {
    std::string message[2];
    std::vector<float> weights[2];
    for (const bool there : {false, true}) {
      const ContextScope scope({.device_target = there ? "GPU" : "CPU", .seed = 5});
      TwoTables net;
      Model model{net, nn::SoftmaxCrossEntropyWithLogits<nn::Reduction::none>{}, parts...};
      message[there] = message_of(model, indexed_rows(wrong));
      for (const auto& [name, tensor] : named_parameters(net))
        for (const float value : tensor.template as<float>()) weights[there].push_back(value);
    }
    CHECK(message[0] == message[1]);
    CHECK((message[0] == "") == (wrong < 0));
    CHECK(weights[0] == weights[1]);
  };
  const nn::Momentum momentum{.learning_rate = 0.01f, .momentum = 0.9f};
  for (const long wrong : {-1L, 16L}) {
    check(wrong, momentum);
    check(wrong, momentum, DynamicLossScaleManager{.init_loss_scale = 256});
  }
}
