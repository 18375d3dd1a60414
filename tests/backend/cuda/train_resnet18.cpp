// label: long
// ResNet-18 on the target Cuda: weights and losses of a training are the CPU's.
#define TENON_TARGET cuda
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include "../../../benchmarks/models/resnet18.hpp"
#include "../../target/networks.hpp"
#include "trained.hpp"

using namespace tenon;

TEST_CASE("ResNet-18 on 32 x 32 images") {
  cuda_test::check_trained<models::ResNet18>(2, 4, target_test::images<3, 32, 32>(3, 2, 10),
                                             nn::Momentum{.learning_rate = 0.01f, .momentum = 0.9f});
}
