// A GPU looks itself at indices that a network computes: a training has the bits of the CPU, and a wrong index ends it
// with the same weights.
#define TENON_TARGET cuda
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <tenon/train/checkpoint.hpp>

#include "../../target/networks.hpp"

using namespace target_test;

namespace {
// Both indices of a wrong row are out of range: the error is about the first.
struct TwiceWrong : nn::Cell<TwiceWrong> {
  Parameter<float, Shape<4, 4>, nn::Normal{0.5f}> table;
  Parameter<float, Shape<7, 4>, nn::Normal{0.5f}> bias;
  constexpr auto construct(auto x) const {
    const auto row = cast<std::int32_t>(reduce_sum<1>(slice<1, Part{0, 1}>(x)));
    return gather(table, row) + gather(bias, row + row);
  }
};
}  // namespace

TEST_CASE_TEMPLATE("computed indices: bits of the CPU, the same error", Net, TwoTables, TwiceWrong) {
  const auto check = [](long wrong, const auto&... parts) {
    std::string message[2];
    std::vector<float> weights[2];
    for (const bool there : {false, true}) {
      const ContextScope scope({.device_target = there ? "GPU" : "CPU", .seed = 5});
      Net net;
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
