// expects: a metric of a Model needs name, clear(), update(prediction, label) or update(loss), and eval(), which
// returns a number
#include <tenon/tenon.hpp>
using namespace tenon;

struct Net : nn::Cell<Net> {
  nn::Dense<784, 10> fc;
  constexpr auto construct(auto x) const { return fc(flatten(x)); }
};

struct Right {
  static constexpr std::string_view name = "right";
  void clear() {}
  void update(float, float) {}
  double eval() { return 1; }
};

void f(Net& net) {
  Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, nn::Momentum{.learning_rate = 0.01f, .momentum = 0.9f},
              Right{}};
}
