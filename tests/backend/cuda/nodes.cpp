// flags: -O0
// How many kernels a training step has on the target Cuda, and how many of them are in the longest chain in which each
// waits for the one before: bars as measured, so that they do not grow unseen. (nodes_deep.cpp: larger networks.)
#define TENON_TARGET cuda
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include "nodes.hpp"

#if defined(TENON_CUDA_EMULATOR)
#include "../../../benchmarks/models/lenet.hpp"

using namespace nodes_test;

namespace {
struct Mlp : nn::Cell<Mlp> {
  nn::Dense<784, 512> hidden;
  nn::Dense<512, 10> output;
  constexpr auto construct(auto x) const { return output(relu(hidden(x))); }
};
}  // namespace

TEST_CASE("LeNet-5") { check_kernels(kernels_of_step<models::LeNet, Shape<1, 28, 28>>(32, momentum), 2, 2); }
TEST_CASE("MLP 784-512-10") { check_kernels(kernels_of_step<Mlp, Shape<784>>(64, momentum), 3, 3); }
#endif
