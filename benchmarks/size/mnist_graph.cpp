// The smallest complete trainer: LeNet-5 on MNIST, pinned to graph mode, with LossMonitor and saving. Its size has a
// budget.
#include <cstdio>

#include <tenon/tenon.hpp>
#include <tenon/train/checkpoint.hpp>

using namespace tenon;

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

int main(int argc, char** argv) try {
  const char* folder = argc > 1 ? argv[1] : ".";
  const auto train = dataset::Mnist{folder, dataset::Usage::train} | dataset::shuffle(60000) | dataset::batch(32);
  const auto test = dataset::Mnist{folder, dataset::Usage::test} | dataset::batch(32);
  LeNet net;
  Model model{pinned<Mode::graph>, net, nn::SoftmaxCrossEntropyWithLogits{},
              nn::Momentum{.learning_rate = 0.01f, .momentum = 0.9f}, nn::Accuracy{}};
  model.train(1, train, LossMonitor{100});
  std::printf("accuracy %.4f\n", model.eval(test)["accuracy"]);
  save_checkpoint(net, "lenet.safetensors");
} catch (const Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
