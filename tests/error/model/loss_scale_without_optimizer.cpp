// expects: a loss scale manager of a Model needs an optimizer before it: Model model{net, loss, optimizer,
// DynamicLossScaleManager{}}
// lines: g++ 9, nvcc 24
#include <tenon/tenon.hpp>
using namespace tenon;

struct Net : nn::Cell<Net> {
  nn::Dense<784, 10> fc;
  constexpr auto construct(auto x) const { return fc(flatten(x)); }
};

void f(Net& net) { Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, DynamicLossScaleManager{}}; }
