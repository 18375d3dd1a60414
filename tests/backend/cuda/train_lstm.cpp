// label: long
// A layer of LSTM over 64 steps on the target Cuda: weights and losses of a training are the CPU's.
#define TENON_TARGET cuda
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include "../../target/networks.hpp"
#include "trained.hpp"

using namespace tenon;

namespace {
struct Lstm : nn::Cell<Lstm> {
  nn::LSTM<32, 128> lstm;
  nn::Dense<128, 10> fc;
  constexpr auto construct(auto x) const {
    auto [output, h, c] = lstm(x);
    return fc(flatten(h));
  }
};
}  // namespace

TEST_CASE("LSTM") {
  cuda_test::check_trained<Lstm>(3, 9, target_test::images<64, 32>(10, 4, 10),
                                 nn::Momentum{.learning_rate = 0.1f, .momentum = 0.9f});
}
