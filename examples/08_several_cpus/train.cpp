// The code that is compiled for several instruction sets. LEVEL is the namespace that main.cpp calls.
#include <cstdio>

#include <tenon/tenon.hpp>

namespace LEVEL {
namespace {
using namespace tenon;

struct Classifier : nn::Cell<Classifier> {
  nn::Dense<784, 64> hidden;
  nn::Dense<64, 10> output;

  constexpr auto construct(auto x) const { return output(relu(hidden(flatten(x)))); }
};
}  // namespace

int train() {
  set_context({.seed = 1});
  const auto digits = dataset::Digits{.size = 6400} | dataset::batch(64);
  Classifier net;
  Model model{pinned<Mode::graph>, net, nn::SoftmaxCrossEntropyWithLogits{}, nn::Adam{.learning_rate = 0.002f},
              nn::Accuracy{}};
  model.train(2, digits);
  std::printf("vectors of %d floats: accuracy %.3f\n", simd_width<float>, model.eval(digits)["accuracy"]);
  return 0;
}
}  // namespace LEVEL
