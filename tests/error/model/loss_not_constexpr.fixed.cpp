// The cure of loss_not_constexpr.cpp.
#include <tenon/tenon.hpp>
using namespace tenon;

struct Net : nn::Cell<Net> {
  nn::Dense<784, 10> fc;
  constexpr auto construct(auto x) const { return fc(flatten(x)); }
};
struct MyLoss : nn::Cell<MyLoss> {
  constexpr auto construct(auto logits, auto labels) const {
    return reduce_mean(softmax_cross_entropy(logits, labels));
  }
};

void f(Net& net, dataset::Digits digits) {
  Model model{net, MyLoss{}, nn::Momentum{.learning_rate = 0.01f, .momentum = 0.9f}};
  model.train(1, digits | dataset::batch(32));
}
