// expects: network: Sign has no derivative, but a gradient must pass through it: detach its operand with stop_gradient,
// or declare a derivative
#include <tenon/tenon.hpp>
using namespace tenon;

TENON_EXACT_BEGIN
struct Sign : ops::Elementwise<Sign, "Sign"> {
  template <class V>
  static constexpr V eval(V x) {
    return x > V(0) ? V(1) : V(-1);
  }
  static constexpr None derivative{};
};
TENON_EXACT_END
constexpr auto sign(const ops::Operand auto& x, std::source_location at = std::source_location::current()) {
  return apply<Sign>(at, x);
}
struct Net : nn::Cell<Net> {
  nn::Dense<784, 10> fc;
  constexpr auto construct(auto x) const { return sign(fc(flatten(x))); }
};

void f(Net& net, dataset::Digits digits) {
  Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, nn::Momentum{.learning_rate = 0.01f, .momentum = 0.9f}};
  model.train(1, digits | dataset::batch(32));
}
