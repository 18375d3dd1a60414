// expects: network.conv1: Conv2d got an input of 1 channels [n,1,28,28], its weight [6,3,5,5] needs 3
#include <tenon/tenon.hpp>
using namespace tenon;

struct Net : nn::Cell<Net> {
  nn::Conv2d<3, 6, 5> conv1;
  nn::Dense<6 * 28 * 28, 10> fc;
  constexpr auto construct(auto x) const { return fc(flatten(relu(conv1(x)))); }
};

void f(Net& net, dataset::Digits digits) {
  Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, nn::Momentum{.learning_rate = 0.01f, .momentum = 0.9f}};
  model.train(1, digits | dataset::batch(32));
}
