// label: long
// flags: -O0
// How many kernels a training step has on the target Cuda, and how many of them are in the longest chain in which each
// waits for the one before: bars as measured, so that they do not grow unseen.
#define TENON_TARGET cuda
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include "nodes.hpp"

#if defined(TENON_CUDA_EMULATOR)
#include "../../../benchmarks/models/gpt.hpp"
#include "../../../benchmarks/models/resnet18.hpp"

using namespace nodes_test;

namespace {
struct Lstm : nn::Cell<Lstm> {
  nn::LSTM<32, 128> lstm;
  nn::Dense<128, 10> fc;
  constexpr auto construct(auto x) const {
    auto [output, h, c] = lstm(x);
    return fc(ops::flatten(h));
  }
};
}  // namespace

TEST_CASE("LSTM") { check_kernels(kernels_of_step<Lstm, Shape<64, 32>>(32, momentum), 24, 15); }
TEST_CASE("GPT with 4 blocks of width 256") {
  using Gpt = models::Gpt<4, 128, 256, 4, 65>;
  check_kernels(kernels_of_step<Gpt, Shape<128>, Shape<128>>(4, nn::Adam{.learning_rate = 1e-4f}), 137, 89);
}
TEST_CASE("ResNet-18 on 32 x 32 images") {
  check_kernels(kernels_of_step<models::ResNet18, Shape<3, 32, 32>>(32, momentum), 235, 157);
}
#endif
