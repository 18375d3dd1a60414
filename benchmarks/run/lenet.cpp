// LeNet-5: steps of training and forward passes, for benchmarks/groups/lenet.py.
#include "classifier.hpp"

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

int main(int argc, char** argv) {
  return benchmark::main_of(argc, argv, [](int threads, const std::string& folder) -> benchmark::Maker {
    set_context({.num_threads = threads, .seed = 1});
    return [weights = benchmark::initial_weights<LeNet>(folder, "lenet")](const std::string& name, const std::string& variant) {
      const long batch = benchmark::last_number(name);
      const Mode mode = benchmark::mode_of(variant);
      if (name.find("/train/") != name.npos) return benchmark::training<LeNet, Shape<1, 28, 28>>(weights, mode, batch, 10);
      return benchmark::forward<LeNet>(weights, mode, batch, Shape<1, 28, 28>{});
    };
  });
}
