// expects: flaten
// lines: g++ 15, clang 17, nvcc 15
#include <tenon/tenon.hpp>
using namespace tenon;

struct Net : nn::Cell<Net> {
  nn::Dense<784, 10> fc;
  constexpr auto construct(auto x) const { return fc(flaten(x)); }
};

void f(Net& net, dataset::Digits digits) {
  Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, nn::Momentum{.learning_rate = 0.01f, .momentum = 0.9f}};
  model.train(1, digits | dataset::batch(32));
}
