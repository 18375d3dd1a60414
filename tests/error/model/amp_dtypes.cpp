// expects: network: Mul of bfloat16 [n,10] and float32 [n,10]: cast one of them, dtypes must agree
#include <tenon/tenon.hpp>
using namespace tenon;

struct Net : nn::Cell<Net> {
  nn::Dense<784, 10> fc;
  constexpr auto construct(auto x) const {
    auto y = fc(flatten(x));
    return y * softmax(cast<float>(y));
  }
};

void f(Net& net, const Tensor<float, Shape<dyn, 28, 28>>& x) {
  Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, nn::SGD{}, amp<AmpLevel::O2>};
  model.predict(x);
}
