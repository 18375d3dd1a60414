// The cure of channels.cpp.
#include <tenon/tenon.hpp>
using namespace tenon;

struct Net : nn::Cell<Net> {
  nn::Conv2d<1, 6, 5> conv1;
  nn::Dense<6 * 28 * 28, 10> fc;
  constexpr auto construct(auto x) const { return fc(flatten(relu(conv1(x)))); }
};

void f(Net& net, dataset::Digits digits) {
  Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, nn::Momentum{.learning_rate = 0.01f, .momentum = 0.9f}};
  model.train(1, digits | dataset::batch(32));
}
