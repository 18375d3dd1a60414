// label: long
// LeNet-5 on the target Cuda: 60 steps on MNIST, and some in 16 bits. Weights and losses are the CPU's.
#define TENON_TARGET cuda
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include "../../support/models.hpp"
#include "../../support/shared.hpp"
#include "trained.hpp"

using namespace tenon;

TEST_CASE("60 steps on MNIST") {
  const std::string folder = support::real_mnist();
  if (folder.empty()) return;
  const auto train = dataset::Mnist{folder, dataset::Usage::train} | dataset::take(60 * 32) | dataset::batch(32);
  cuda_test::check_trained<support::LeNet>(1, 60, train, nn::Momentum{.learning_rate = 0.05f, .momentum = 0.9f});
}

TEST_CASE("bfloat16; float16 with a scale at which the first steps overflow") {
  const auto train = dataset::Digits{.usage = dataset::Usage::train, .size = 60} | dataset::batch(16);
  const nn::Momentum momentum{.learning_rate = 0.05f, .momentum = 0.9f};
  cuda_test::check_trained<support::LeNet>(3, 12, train, momentum, amp<AmpLevel::O2>);
  cuda_test::check_trained<support::LeNet>(3, 12, train, momentum, amp<AmpLevel::O2, float16>,
                                           DynamicLossScaleManager{.init_loss_scale = 16777216});
}
