// expects: loss: SoftmaxCrossEntropyWithLogits needs labels of int32 (class numbers) or float32 (distributions), got
// uint8 [n]
#include <tenon/tenon.hpp>
using namespace tenon;

struct Net : nn::Cell<Net> {
  nn::Dense<784, 10> fc;
  constexpr auto construct(auto x) const { return fc(flatten(x)); }
};

void f(Net& net, std::vector<float> images, std::vector<std::uint8_t> labels) {
  auto data = dataset::from_arrays(dataset::column<Shape<28, 28>>(images), dataset::column<Shape<>>(labels));
  Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, nn::Momentum{.learning_rate = 0.01f, .momentum = 0.9f}};
  model.train(1, data | dataset::batch(32));
}
