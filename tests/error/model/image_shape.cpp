// expects: network.fc: MatMul got rows of 1024 [n,1024], its weight [10,784] needs 784
#include <tenon/tenon.hpp>
using namespace tenon;

struct Net : nn::Cell<Net> {
  nn::Dense<784, 10> fc;
  constexpr auto construct(auto x) const { return fc(flatten(x)); }
};

void f(Net& net, std::vector<float> images, std::vector<int> labels) {
  auto data = dataset::from_arrays(dataset::column<Shape<32, 32>>(images), dataset::column<Shape<>>(labels));
  Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, nn::Momentum{.learning_rate = 0.01f, .momentum = 0.9f}};
  model.train(1, data | dataset::batch(32));
}
