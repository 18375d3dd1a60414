// The cure of no_metric.cpp.
#include <tenon/tenon.hpp>
using namespace tenon;

struct Net : nn::Cell<Net> {
  nn::Dense<784, 10> fc;
  constexpr auto construct(auto x) const { return fc(flatten(x)); }
};

void f(Net& net, dataset::Digits digits) {
  Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, nn::Momentum{.learning_rate = 0.01f, .momentum = 0.9f},
              nn::Accuracy{}};
  model.eval(digits | dataset::batch(32));
}
