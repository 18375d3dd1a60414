// expects: an observer needs a program that can be observed: compile all of it with -DTENON_OBSERVE
#include <tenon/tenon.hpp>
using namespace tenon;

struct Net : nn::Cell<Net> {
  nn::Dense<784, 10> fc;
  constexpr auto construct(auto x) const { return fc(flatten(x)); }
};

struct Counting {
  long operations = 0;
  void before(const Operation&) {}
  void after(const Operation&) { ++operations; }
};

void f(Net& net, dataset::Digits digits) {
  Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, nn::Momentum{.learning_rate = 0.01f, .momentum = 0.9f}};
  model.train(1, digits | dataset::batch(32), Counting{});
}
