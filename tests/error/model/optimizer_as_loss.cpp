// expects: the second argument of a Model is a loss, such as nn::MSELoss{}; use NoLoss{} if the network returns it
#include <tenon/tenon.hpp>
using namespace tenon;

struct Net : nn::Cell<Net> {
  nn::Dense<784, 10> fc;
  constexpr auto construct(auto x) const { return fc(flatten(x)); }
};

void f(Net& net) { Model model{net, nn::SGD{.learning_rate = 0.01f}}; }
