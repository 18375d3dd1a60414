// expects: flaten
// lines: g++ 15, clang 29, nvcc 30
#include <tenon/tenon.hpp>
using namespace tenon;

struct Head : nn::Cell<Head> {
  nn::Dense<784, 10> fc;
  constexpr auto construct(auto x) const { return fc(flaten(x)); }
};
struct Net : nn::Cell<Net> {
  Head head;
  constexpr auto construct(auto x) const { return head(x); }
};

void f(Net& net, dataset::Digits digits) {
  Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, nn::Momentum{.learning_rate = 0.01f, .momentum = 0.9f}};
  model.train(1, digits | dataset::batch(32));
}
