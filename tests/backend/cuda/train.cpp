// Trainings on the target Cuda: weights and losses are the CPU's, bit for bit, in both modes.
#define TENON_TARGET cuda
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include "../../support/models.hpp"
#include "../../target/networks.hpp"
#include "trained.hpp"

using namespace tenon;

namespace {
template <class Net>
void check_equal(const auto& data, const auto& optimizer) {
  cuda_test::check_trained<Net>(2, 6, data, optimizer);
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
