// expects: network.loss: SoftmaxCrossEntropyWithLogits takes 2 arguments, got 1
#include <tenon/tenon.hpp>
using namespace tenon;

struct Net : nn::Cell<Net> {
  nn::Dense<784, 10> fc;
  nn::SoftmaxCrossEntropyWithLogits<> loss;
  constexpr auto construct(auto x, auto label) const {
    return loss(fc(flatten(x))) + 0 * reduce_mean(cast<float>(label));
  }
};

void f(Net& net, dataset::Digits digits) {
  Model model{net, NoLoss{}, nn::Momentum{.learning_rate = 0.01f, .momentum = 0.9f}};
  model.train(1, digits | dataset::batch(32));
}
