// expects: amp<AmpLevel::automatic> is for devices with a choice of their own, the CPU has none: write
// amp<AmpLevel::O2>
// lines: nvcc 24
#include <tenon/tenon.hpp>
using namespace tenon;

struct Net : nn::Cell<Net> {
  nn::Dense<784, 10> fc;
  constexpr auto construct(auto x) const { return fc(flatten(x)); }
};

void f(Net& net) { Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, nn::SGD{}, amp<AmpLevel::automatic>}; }
