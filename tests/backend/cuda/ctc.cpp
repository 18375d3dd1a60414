// Connectionist temporal classification on the target Cuda: the float32 results of the CPU, with more states than a
// block has threads.
#define TENON_TARGET cuda
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <tenon/ops/ops.hpp>

#include "../../support/both_modes.hpp"

using namespace tenon;
using namespace support;

TEST_CASE("long targets, and lengths that are no part of them") {
  const auto loss = [](const auto& x, const auto& targets, const auto& frames, const auto& lengths) {
    return ops::ctc_loss(log_softmax(x), targets, frames, lengths);
  };
  const auto frames = tensor_of<std::int32_t, Shape<dyn>>({150, 149, 141, 0, 151}),
             lengths = tensor_of<std::int32_t, Shape<dyn>>({70, 3, 69, 0, 5});
  both_modes<SameNumbers>(loss, random_tensor<float, Shape<dyn, 150, 30>>(1, -2, 2, 5),
                          random_tensor<std::int32_t, Shape<dyn, 70>>(2, 1, 30, 5), frames, lengths);
}
