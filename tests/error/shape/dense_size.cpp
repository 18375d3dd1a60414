// expects: network.fc: MatMul got rows of 784 [n,784], its weight [10,400] needs 400
#include <tenon/tenon.hpp>
using namespace tenon;

struct Net : nn::Cell<Net> {
  nn::Dense<400, 10> fc;
  constexpr auto construct(auto x) const { return fc(flatten(x)); }
};

void f(Net& net, dataset::Digits digits) {
  Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, nn::Momentum{.learning_rate = 0.01f, .momentum = 0.9f},
              nn::Accuracy{}};
  model.eval(digits | dataset::batch(32));
}
