// LeNet-5 learns on a Cortex-M4F, and the same program learns on a desktop, to the same bits: docs/embedded.md.
#include <tenon/embedded.hpp>
#if defined(__arm__)
#include "start.hpp"
#else
#include <cstdio>
namespace board {
inline void write(const char* name, std::uint32_t number) { std::printf("%s%08x\n", name, number); }
}  // namespace board
#endif

using namespace tenon;

namespace {

struct LeNet : nn::Cell<LeNet> {
  nn::Conv2d<1, 6, 5, nn::Conv2dConfig{.pad_mode = PadMode::same, .has_bias = true}> conv1;
  nn::Conv2d<6, 16, 5, nn::Conv2dConfig{.pad_mode = PadMode::valid, .has_bias = true}> conv2;
  nn::Dense<400, 120> fc1;
  nn::Dense<120, 84> fc2;
  nn::Dense<84, 10> fc3;

  constexpr auto construct(auto x) const {
    auto a = max_pool2d<2>(relu(conv1(x)));
    auto b = max_pool2d<2>(relu(conv2(a)));
    return fc3(relu(fc2(relu(fc1(flatten(b))))));
  }
};

using Image = Tensor<float, Shape<dyn, 1, 28, 28>>;
using Label = Tensor<std::int32_t, Shape<dyn>>;
using Learner = embedded::Trainer<LeNet, nn::SoftmaxCrossEntropyWithLogits<>, embedded::PlainSGD, Image, Label>;
#if defined(TENON_EMBEDDED)  // a desktop's kernels need more
static_assert(sizeof(Learner) < 350 * 1024, "all memory of the training, known when the program is compiled");
#endif

Learner learner;  // static: the linker's memory, no flash
float image[28 * 28];

// A bar whose place depends on the label, and noise: something to learn without files.
void draw(std::int32_t label, std::uint32_t& seed) {
  for (int i = 0; i < 28 * 28; ++i) {
    seed = seed * 1664525u + 1013904223u;
    const bool bar = i / 28 / 2 == label + 2;
    image[i] = (bar ? 0.75f : 0.0f) + static_cast<float>(seed >> 24) * 0x1p-10f;
  }
}

std::uint32_t hash() {
  std::uint32_t h = 2166136261u;
  for (const std::byte b : learner.parameters()) h = (h ^ std::uint32_t(b)) * 16777619u;
  return h;
}
std::uint32_t bits(float x) { return std::bit_cast<std::uint32_t>(x); }

}  // namespace

int main() {
  static const embedded::PlainSGD sgd{.learning_rate = 0.03125f};
  std::uint32_t seed = 1;
  learner.start(1);
  for (int step = 0; step < 40; ++step) {
    draw(step % 10, seed);
    const float loss = learner.step(sgd, image, step % 10);
    if (step % 10 == 9) board::write("loss ", bits(loss));
  }
  board::write("logit ", bits(learner.predict(image)[0]));
  board::write("weights ", hash());
#if defined(__arm__)
  board::write("stack ", board::stack_bytes());
#endif
  return 0;
}
