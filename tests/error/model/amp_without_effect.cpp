// expects: the amp level has no effect: the network has no floating-point input, and no embedding that it looks up by
// an integer one: cast<bfloat16> in construct what it shall compute with
#include <tenon/tenon.hpp>
using namespace tenon;

struct Net : nn::Cell<Net> {
  nn::Dense<784, 10> fc;
  constexpr auto construct(auto pixels) const { return fc(flatten(cast<float>(pixels))); }
};

void f(Net& net, const Tensor<std::uint8_t, Shape<dyn, 28, 28>>& pixels) {
  Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, nn::SGD{}, amp<AmpLevel::O2>};
  model.predict(pixels);
}
