// Recurrent layers on the target Cuda: the bits of the CPU, with several samples per block and several segments.
#define TENON_TARGET cuda
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <tenon/ops/ops.hpp>

#include "../../support/both_modes.hpp"

using namespace tenon;
using namespace support;

TEST_CASE("LSTM: x and h in one chain, in several, many samples") {
  const auto layer = [](const auto& x, const auto& w, const auto& u) { return std::get<0>(lstm(x, w, u)); };
  both_modes(layer, random_tensor<float, Shape<dyn, 4, 3>>(1, -1, 1, 530), random_tensor<float, Shape<20, 3>>(2, -1, 1),
             random_tensor<float, Shape<20, 5>>(3, -1, 1));
  both_modes(layer, random_tensor<float, Shape<dyn, 3, 270>>(1, -1, 1, 2),
             random_tensor<float, Shape<40, 270>>(2, -0.1, 0.1), random_tensor<float, Shape<40, 10>>(3, -1, 1));
}
TEST_CASE("GRU of more units than a segment has, and than a block has threads for") {
  const auto layer = [](const auto& x, const auto& u) { return std::get<0>(gru(x, u)); };
  both_modes(layer, random_tensor<float, Shape<dyn, 3, 900>>(1, -1, 1, 2),
             random_tensor<float, Shape<900, 300>>(2, -0.1, 0.1));
}
TEST_CASE("LSTM and GRU whose weights are in registers, in shared memory, and beyond") {
  const auto layer = [](const auto& x, const auto& w, const auto& u) { return std::get<0>(lstm(x, w, u)); };
  both_modes(layer, random_tensor<float, Shape<dyn, 3, 5>>(1, -1, 1, 2), random_tensor<float, Shape<512, 5>>(2, -1, 1),
             random_tensor<float, Shape<512, 128>>(3, -1, 1));
  const auto gated = [](const auto& x, const auto& u) { return std::get<0>(gru(x, u)); };
  both_modes(gated, random_tensor<float, Shape<dyn, 3, 510>>(1, -1, 1, 2),
             random_tensor<float, Shape<510, 170>>(2, -0.1, 0.1));
}
