// The cure of amp_without_effect.cpp.
#include <tenon/tenon.hpp>
using namespace tenon;

struct Net : nn::Cell<Net> {
  nn::Dense<784, 10> fc;
  constexpr auto construct(auto pixels) const { return fc(flatten(cast<bfloat16>(pixels))); }
};

void f(Net& net, const Tensor<std::uint8_t, Shape<dyn, 28, 28>>& pixels) {
  Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, nn::SGD{}, amp<AmpLevel::O2>};
  model.predict(pixels);
}
