// Calls one kernel so many times: `kernels NAME CALLS`. run.sh counts the instructions of a call.
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include <tenon/tenon.hpp>

#include "../support/models.hpp"

using namespace tenon;

namespace {
void hide(const void* memory) { asm volatile("" : : "r"(memory) : "memory"); }

template <class X>
X operand() {
  X x = X::empty(1);
  for (long i = 0; i < x.count(); ++i) x.data()[i] = float(i % 61) / 61 - 0.5f;
  return x;
}

/// Calls f on the operands, without a tape.
template <class F, class... X>
void repeat(long calls, F f, const X&... x) {
  const eager::NoGrad no_grad;
  for (long i = 0; i < calls; ++i) {
    (hide(x.data()), ...);
    const auto result = f(x...);
    hide(result.data());
  }
}

/// Steps of training LeNet on 32 images in graph mode.
void train(long steps) {
  std::vector<float> pixels(32 * 28 * 28);
  for (std::size_t i = 0; i < pixels.size(); ++i) pixels[i] = float(i % 255) / 255;
  std::vector<std::int32_t> labels(32);
  for (std::size_t i = 0; i < labels.size(); ++i) labels[i] = std::int32_t(i) % 10;
  const auto data = dataset::from_arrays(dataset::column<Shape<1, 28, 28>>(std::move(pixels)),
                                         dataset::column<Shape<>>(std::move(labels)));
  support::LeNet net;
  Model model{pinned<Mode::graph>, net, nn::SoftmaxCrossEntropyWithLogits{},
              nn::Momentum{.learning_rate = 0.01f, .momentum = 0.9f}};
  model.train(1, data | dataset::batch(32) | dataset::repeat(steps));
}

/// Lines below the level that is written, which cost a comparison.
void log_nothing(long lines) {
  for (long i = 0; i < lines; ++i) {
    logging::debug("line ", i);
    asm volatile("" : "+r"(i));
  }
}

bool run(std::string_view name, long calls) {
  using Square = Tensor<float, Shape<96, 96>>;
  if (name == "gemm_96")
    return repeat(
               calls, [](const auto& a, const auto& b) { return matmul(a, b); }, operand<Square>(), operand<Square>()),
           true;
  using Image = Tensor<float, Shape<4, 3, 32, 32>>;
  using Weight = Tensor<float, Shape<16, 3, 3, 3>>;
  if (name == "conv_3_16_3x3")
    return repeat(
               calls, [](const auto& x, const auto& w) { return conv2d(x, w); }, operand<Image>(), operand<Weight>()),
           true;
  if (name == "softmax_64x100")
    return repeat(calls, [](const auto& x) { return softmax(x); }, operand<Tensor<float, Shape<64, 100>>>()), true;
  using Four = Tensor<float, Shape<4>>;
  if (name == "eager_add_4")
    return repeat(
               1000 * calls, [](const auto& x, const auto& y) { return x + y; }, operand<Four>(), operand<Four>()),
           true;
  if (name == "lenet_step_32") return train(calls), true;
  if (name == "log_nothing_1000") return log_nothing(1000 * calls), true;
  return false;
}
}  // namespace

int main(int argc, char** argv) {
  set_context({.num_threads = 1, .seed = 1});
  if (argc != 3 || !run(argv[1], std::atol(argv[2]))) return std::fprintf(stderr, "usage: %s NAME CALLS\n", argv[0]), 2;
}
