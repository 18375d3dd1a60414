// The cure of optimizer_as_loss.cpp.
#include <tenon/tenon.hpp>
using namespace tenon;

struct Net : nn::Cell<Net> {
  nn::Dense<784, 10> fc;
  constexpr auto construct(auto x) const { return fc(flatten(x)); }
};

void f(Net& net) { Model model{net, NoLoss{}, nn::SGD{.learning_rate = 0.01f}}; }
