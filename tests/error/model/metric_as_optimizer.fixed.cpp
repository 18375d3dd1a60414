// The cure of metric_as_optimizer.cpp.
#include <tenon/tenon.hpp>
using namespace tenon;

struct Net : nn::Cell<Net> {
  nn::Dense<784, 10> fc;
  constexpr auto construct(auto x) const { return fc(flatten(x)); }
};

void f(Net& net) { Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, NoOptimizer{}, nn::Accuracy{}}; }
