// label: long
// Trainings with Math::tf32 on the target Cuda: mixed precision with products of 16 bits by cuBLASLt, scaled losses,
// updates that overflow; a language model.
#define TENON_TARGET cuda
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include "fast.hpp"

using namespace fast_test;

namespace {
template <class T>
std::vector<double> losses_of(const ContextChange& change, Mode mode, float scale) {
  const ContextScope scope(change);
  const ContextScope also({.mode = mode, .seed = 7});
  support::Mlp net;
  Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, nn::Adam{.learning_rate = 0.01f}, amp<AmpLevel::O2, T>,
              DynamicLossScaleManager{.init_loss_scale = scale}};
  std::vector<double> result;
  Losses losses{result};
  model.train(6, target_test::images<20>(90, 30, 4), losses);
  return result;
}
template <class T>
void check_losses(float scale) {
  const AnySize any;
  const std::vector<double> exact = losses_of<T>({.device_target = "GPU"}, Mode::graph, scale);
  CHECK(exact == losses_of<T>({}, Mode::graph, scale));
  for (const Mode mode : {Mode::graph, Mode::pynative}) {
#if defined(TENON_CUDA_EMULATOR)
    emulator::lt_calls.clear();
#endif
    const std::vector<double> there = losses_of<T>(fast, mode, scale);
    CHECK(there == losses_of<T>(fast, mode, scale));
    for (std::size_t i = 0; i < exact.size(); ++i) CHECK(there[i] == doctest::Approx(exact[i]).epsilon(0.05));
    CHECK(there.back() < 0.9 * there.front());
#if defined(TENON_CUDA_EMULATOR)
    long of_16_bits = 0;
    for (const emulator::LtCall& call : emulator::lt_calls) of_16_bits += call.d.type != CUDA_R_32F;
    CHECK(of_16_bits > 0);
#endif
  }
}
}  // namespace

TEST_CASE("bfloat16, and float16 with a scale at which the first steps overflow") {
  check_losses<bfloat16>(1024);
  check_losses<float16>(16777216);
}

TEST_CASE("a language model: near the exact one, equal in each run, and exact from when the setting says so") {
  check_training<target_test::LanguageModel>(target_test::texts(10, 4));
}
