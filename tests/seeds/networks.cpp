// What the founding documents say of shapes and memory, in C++.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <tenon/nn/layer/conv/conv2d.hpp>
#include <tenon/train/plan_of.hpp>

#include "../train/small.hpp"

using namespace tenon;

namespace {
/// The height of the feature map of an image of 28 x 28 pixels; the kernel is an int parameter of a template.
template <int kernel, nn::Conv2dConfig config>
long height_of() {
  nn::Conv2d<1, 4, kernel, config> conv;
  const auto map = conv(Tensor<float, Shape<dyn, 1, 28, 28>>::full(1, 2));
  CHECK(map.view().shape()[2] == map.view().shape()[3]);
  return map.view().shape()[2];
}
}  // namespace

TEST_CASE("Conv2d keeps the size with pad_mode same, and with (kernel - 1) / 2 of padding") {
  CHECK(height_of<3, {.pad_mode = PadMode::same}>() == 28);
  CHECK(height_of<4, {.pad_mode = PadMode::same}>() == 28);
  CHECK(height_of<3, {.pad_mode = PadMode::pad, .padding = 1}>() == 28);
  CHECK(height_of<5, {.pad_mode = PadMode::pad, .padding = 2}>() == 28);
  CHECK(height_of<5, {.pad_mode = PadMode::pad, .padding = 1}>() == 26);
  CHECK(height_of<5, {.pad_mode = PadMode::valid}>() == 24);
  CHECK(height_of<5, {.stride = 2, .pad_mode = PadMode::same}>() == 14);
}

TEST_CASE("memory: a step needs less with a smaller batch, which is known before it runs") {
  small::Net net;
  Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, nn::Momentum{.learning_rate = 0.1f, .momentum = 0.9f}};
  const auto data = small::samples(64) | dataset::batch(32);
  static_assert(plan_of(model, data).bytes(32) < plan_of(model, data).bytes(256));
  CHECK(plan_of(model, data).bytes(32) > 32 * long(sizeof(float)) * 8);
}

TEST_CASE("memory: what is too large for the limit is told with its size, and the next one fits") {
  const auto told = [](auto f) -> std::string {
    try {
      f();
    } catch (const OutOfMemory& error) {
      return error.what();
    }
    return "nothing was thrown";
  };
  const ContextScope scope({.max_device_memory = "8GB"});
  using Large = Tensor<float, Shape<640, 1024, 80, 81>>;  // the document's: more than 15 GB
  const std::string error = told([] { static_cast<void>(Large::zeros()); });
  CHECK(error.starts_with("Out of memory: 17 GB were asked for a tensor float32 [640,1024,80,81], "));
  CHECK(error.find(" are free (max_device_memory allows 8.59 GB, ") != error.npos);
  CHECK(error.find("), and the peak would be 17 GB. Take a smaller batch or network") != error.npos);
  CHECK(Tensor<float, Shape<64, 81>>::zeros().values().size() == 64 * 81);
}
