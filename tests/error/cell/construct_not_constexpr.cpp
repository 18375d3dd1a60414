// expects: construct cannot run while the program is compiled: write constexpr auto construct(auto x) const, call
// constexpr functions only
// lines: g++ 13, clang 24, nvcc 20
#include <tenon/tenon.hpp>
using namespace tenon;

struct Net : nn::Cell<Net> {
  nn::Dense<784, 10> fc;
  auto construct(auto x) const { return fc(flatten(x)); }
};

void f(Net& net, dataset::Digits digits) {
  Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, nn::Momentum{.learning_rate = 0.01f, .momentum = 0.9f}};
  model.train(1, digits | dataset::batch(32));
}
