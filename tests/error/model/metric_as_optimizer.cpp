// expects: the third argument of a Model is an optimizer, such as nn::Momentum{...}, or NoOptimizer{} for a Model that
// only evaluates
// lines: g++ 9, nvcc 24
#include <tenon/tenon.hpp>
using namespace tenon;

struct Net : nn::Cell<Net> {
  nn::Dense<784, 10> fc;
  constexpr auto construct(auto x) const { return fc(flatten(x)); }
};

void f(Net& net) { Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, nn::Accuracy{}}; }
