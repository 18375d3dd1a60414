// expects: a hook of a callback cannot be called: begin, epoch_begin, step_begin, step_end, epoch_end, end are public,
// take one parameter for the run (auto& or RunInfo&), and are const if the callback is
#include <tenon/tenon.hpp>
using namespace tenon;

struct Net : nn::Cell<Net> {
  nn::Dense<784, 10> fc;
  constexpr auto construct(auto x) const { return fc(flatten(x)); }
};

struct Count {
  int epochs = 0, steps = 0;
  void epoch_end(RunInfo&) { ++epochs; }
  void step_end() { ++steps; }
};

void f(Net& net, dataset::Digits digits) {
  Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, nn::Momentum{.learning_rate = 0.01f, .momentum = 0.9f}};
  model.train(1, digits | dataset::batch(32), Count{});
}
